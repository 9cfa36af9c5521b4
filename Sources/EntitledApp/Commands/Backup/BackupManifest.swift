import Base
import CLI
import Daemon
import Glibc
import Schemas

/// `backup.json`: what a backup is of. It is written last, so that a backup without it is not whole.
struct BackupManifest {
    static let format: Int64 = 1

    /// Where the key is that seals endpoints' secrets.
    enum Key: String {
        /// `webhook-secrets.key` in the backup.
        case file
        /// `webhooks.secret_keys`, which is backed up with the configuration.
        case configuration
        /// It was not on the host.
        case missing
        /// The installation had none yet.
        case none
    }

    /// Milliseconds since 1970.
    let madeAt: Int64
    /// The major version.
    let postgres: Int
    let schema: SchemaVersion.Found
    let key: Key
    /// The fingerprint of the key in use; nil before the first one.
    let fingerprint: String?

    private static func path(in folder: String) -> String { "\(folder)/backup.json" }

    var document: JSON {
        .object([
            "format": .int(BackupManifest.format), "made_at": .date(madeAt), "made_at_ms": .int(madeAt),
            "version": .string(Version.current), "postgres": .int(Int64(postgres)),
            "schema": .int(Int64(schema.version)),
            "oldest_program": schema.oldestProgram.map { .int(Int64($0)) } ?? .null, "key": .string(key.rawValue),
            "key_fingerprint": fingerprint.map { .string($0) } ?? .null,
        ])
    }

    /// Writes it in one step, durably.
    func write(in folder: String) throws {
        let path = BackupManifest.path(in: folder)
        let draft = "\(path).new"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        let bytes = document.bytes + [UInt8(ascii: "\n")]
        let isWritten = file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        guard isWritten, rename(draft, path) == 0 else {
            throw CommandFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        close(file)
        BackupManifest.sync(folder)
    }

    private static func sync(_ folder: String) {
        let file = open(folder, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        fsync(file)
        close(file)
    }
}

extension BackupManifest {
    /// - Throws: `CommandFailure` with what is wrong about the backup.
    init(in folder: String) throws {
        let path = BackupManifest.path(in: folder)
        let reading = FileReading.read(path)
        guard case .contents(let bytes) = reading else {
            guard reading == .missing else { throw CommandFailure("cannot read \(path): \(reading.failure ?? "")") }
            throw CommandFailure(
                "\(folder) is not a complete backup: backup.json, which is written last, is missing")
        }
        guard let json = try? JSON(parsing: bytes), let format = json["format"]?.intValue else {
            throw CommandFailure("\(path) is damaged: it is not the JSON of a backup")
        }
        guard format == BackupManifest.format else {
            throw CommandFailure(
                "\(path) has the format \(format), and this program reads \(BackupManifest.format): install the entitled"
                    + " that made it, \(json["version"]?.stringValue ?? "of another version")")
        }
        guard let madeAt = json["made_at_ms"]?.intValue, let postgres = json["postgres"]?.intValue,
            let schema = json["schema"]?.intValue, let key = json["key"]?.stringValue.flatMap(Key.init)
        else { throw CommandFailure("\(path) is damaged: a member is missing") }
        self.init(
            madeAt: madeAt, postgres: Int(postgres),
            schema: SchemaVersion.Found(
                version: Int(schema), oldestProgram: json["oldest_program"]?.intValue.map { Int($0) }),
            key: key, fingerprint: json["key_fingerprint"]?.stringValue)
    }
}
