import AppStore
import Base
import Crypto
import Daemon
import FoundationEssentials

/// The file in which a process remembers what it knows about certificates. Without it everything works, and what is
/// known ends with the process; so trouble with it is told once and stops nothing.
struct RevocationFile: Sendable {
    private let path: String
    private let failure = RepeatedFailure()
    private let logger: Logger

    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    /// Nothing, where there is no such file yet.
    func read() -> [[UInt8]: OCSPAnswer] {
        switch FileReading.read(path) {
        case .contents(let bytes):
            if let answers = RevocationCacheFile.decode(bytes) { return answers }
            logger.warning("malformed revocation cache file discarded", ["file": .string(path)])
        case .missing: break
        case let trouble:
            logger.warning(
                "revocation cache file not read",
                ["file": .string(path), "error": .text(trouble.failure)])
        }
        return [:]
    }

    /// As a whole or not at all.
    func write(_ answers: [[UInt8]: OCSPAnswer]) {
        do {
            let folder = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex))
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(RevocationCacheFile.encode(answers)).write(to: URL(filePath: path), options: .atomic)
        } catch {
            failure.warning("revocation cache file not written", error, count: 1, logger)
        }
    }
}
