import Base
import CLI
import Crypto
import Daemon
import Synchronization

/// Where a process has its configuration from, with what its files contained when they were read last.
package struct ConfigurationSource: Sendable {
    private let file: String?
    private let surroundings: ConfigurationContext

    /// A configuration as it was read.
    package struct Reading: Sendable {
        package let configuration: Configuration
        /// SHA-256 of the content of each file that was read, by path; empty for what cannot be read.
        let files: [String: [UInt8]]
    }

    /// What one reading has that another has not.
    struct Difference: Equatable {
        /// Keys whose values differ.
        let keys: [String]
        /// Paths of files whose contents differ.
        let files: [String]

        var isEmpty: Bool { keys.isEmpty && files.isEmpty }
    }

    package init(file: String?, _ surroundings: ConfigurationContext) {
        self.file = file
        self.surroundings = surroundings
    }

    /// Reads the file, the environment, and the files that they name.
    ///
    /// - Parameter former: an earlier reading. A file that it read must be there still, although a process that starts does
    ///   without the standard one: it may be just being written.
    package func read(after former: Reading? = nil) throws(ConfigurationMistakes) -> Reading {
        let record = FileRecord()
        let readFile = surroundings.readFile
        let recording = ConfigurationContext(
            environment: surroundings.environment, workingDirectory: surroundings.workingDirectory,
            isSuperuser: surroundings.isSuperuser
        ) { path in
            let reading = readFile(path)
            record.note(path, reading)
            return reading
        }
        let configuration = try Configuration.load(file: file, recording)
        let files = record.files.withLock { $0 }
        let path = ConfigurationFile.locate(file, surroundings).path
        if former?.files[path]?.isEmpty == false, files[path]?.isEmpty != false {
            throw ConfigurationMistakes(
                all: [
                    ConfigurationMistake(
                        key: Terminal.harmless(path), found: "no file", allowed: "the configuration as it was")
                ])
        }
        return Reading(configuration: configuration, files: files)
    }

    private final class FileRecord: Sendable {
        let files = Mutex<[String: [UInt8]]>([:])

        func note(_ path: String, _ reading: FileReading) {
            let digest: [UInt8] = if case .contents(let bytes) = reading { Digest.sha256(bytes) } else { [] }
            files.withLock { $0[path] = digest }
        }
    }
}

extension ConfigurationSource.Difference {
    init(from former: ConfigurationSource.Reading, to new: ConfigurationSource.Reading) {
        func changed(_ former: [String: [UInt8]], _ new: [String: [UInt8]]) -> [String] {
            Set(former.keys).union(new.keys).filter { former[$0] != new[$0] }.sorted()
        }
        keys = changed(former.configuration.fingerprints, new.configuration.fingerprints)
        files = changed(former.files, new.files)
    }
}
