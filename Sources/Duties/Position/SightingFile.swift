import Base
import Daemon
import Database
import FoundationEssentials
import Glibc

/// The file in `state_dir` in which the processes of a host keep what they saw last of the database, so that a database
/// that went back while none ran is noticed.
///
/// Without it everything works, but for that; so trouble with it is logged and stops nothing.
package struct SightingFile: Sendable {
    /// What was seen.
    package struct Sighting: Sendable, Equatable {
        package var installation: String
        package var number: Int64
        package var position: DatabasePosition?
        package var adoption: Int64
        /// `entitled restore` made the database of this host from a backup.
        package var isRestored = false

        package init(installation: String, number: Int64, position: DatabasePosition? = nil, adoption: Int64 = 0) {
            self.installation = installation
            self.number = number
            self.position = position
            self.adoption = adoption
        }
    }

    /// Of a database that was made from a backup: the first leader has to notice it, whatever is in it.
    package static func noteRestored(in folder: String, logger: Logger) {
        var sighting = Sighting(installation: "", number: 0)
        sighting.isRestored = true
        SightingFile(folder: folder, logger: logger).write(sighting)
    }

    private let path: String
    private let failure = RepeatedFailure()
    private let logger: Logger

    package init(folder: String, logger: Logger) {
        path = SightingFile.path(in: folder)
        self.logger = logger
    }

    package static func path(in folder: String) -> String { "\(folder)/database-sighting.json" }

    /// Nil where there is no such file yet, or a damaged one.
    ///
    /// - Parameter logger: told of trouble; for what is read again and again, a silent one.
    package func read(logger: Logger? = nil) -> Sighting? {
        let logger = logger ?? self.logger
        switch FileReading.read(path) {
        case .contents(let bytes):
            if let sighting = Sighting(bytes) { return sighting }
            logger.warning("malformed database sighting file discarded", ["file": .string(path)])
        case .missing: break
        case let trouble:
            logger.warning(
                "database sighting file not read", ["file": .string(path), "error": .text(trouble.failure)])
        }
        return nil
    }

    /// Replaces the file in one step; mode 0600.
    package func write(_ sighting: Sighting) {
        do {
            let folder = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex))
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try replace(sighting.document.bytes + [UInt8(ascii: "\n")])
        } catch {
            failure.warning("database sighting file not written", error, count: 1, logger)
        }
    }

    /// Several processes may write at once: each writes a file of its own, and the last one stays.
    private func replace(_ bytes: [UInt8]) throws {
        var draft = Array("\(path).XXXXXX".utf8CString)
        // Its mode is 0600.
        let file = mkstemp(&draft)
        guard file >= 0 else { throw Failure(path: path, reason: errno) }
        let isWritten =
            fcntl(file, F_SETFD, FD_CLOEXEC) == 0 && Glibc.write(file, bytes, bytes.count) == bytes.count
            && fsync(file) == 0
        let reason = errno
        close(file)
        guard isWritten, rename(draft, path) == 0 else {
            defer { unlink(draft) }
            throw Failure(path: path, reason: isWritten ? errno : reason)
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let path: String
        let reason: Int32

        var description: String { "cannot write \(path): \(String(cString: strerror(reason)))" }
    }
}

extension SightingFile.Sighting {
    fileprivate var document: JSON {
        .object([
            "installation": .string(installation), "number": .int(number),
            "system_identifier": .text(position?.cluster), "timeline": position.map { .int($0.timeline) } ?? .null,
            "adoption": .int(adoption), "restored": .bool(isRestored),
        ])
    }

    /// Nil for bytes that are no such document.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes), let installation = json["installation"]?.stringValue,
            let number = json["number"]?.intValue, PositionTable.numbers.contains(number)
        else { return nil }
        let adoption = json["adoption"]?.intValue ?? 0
        guard PositionTable.numbers.contains(adoption) else { return nil }
        self.init(installation: installation, number: number, adoption: adoption)
        isRestored = json["restored"] == .bool(true)
        guard let cluster = json["system_identifier"]?.stringValue, let timeline = json["timeline"]?.intValue else {
            return
        }
        position = DatabasePosition(cluster: cluster, timeline: timeline)
    }
}
