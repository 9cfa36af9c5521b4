import Base
import Crypto
import Daemon
import Database
import FoundationEssentials
import Glibc
import Postgres

/// The keys that seal the secrets of endpoints: the configuration's, else one in the state directory.
enum SealingKeys {
    private static let fileName = "webhook-secrets.key"

    static func path(_ configuration: Configuration) -> String { path(in: configuration.stateDirectory) }

    /// The file of a key in a state directory or a backup.
    static func path(in folder: String) -> String { "\(folder)/\(fileName)" }

    /// The keys of this host; nil if it has none. Makes nothing.
    static func existing(_ configuration: Configuration) throws -> SecretSealer? {
        guard configuration.webhooks.secretKeys.isEmpty else {
            return SecretSealer(keys: configuration.webhooks.secretKeys)
        }
        return try at(path(configuration))
    }

    /// The key of a file; nil if there is none.
    static func at(_ path: String) throws -> SecretSealer? {
        access(path, F_OK) == 0 ? SecretSealer(keys: [Redacted(try key(at: path))]) : nil
    }

    /// The key that the state directory has; nil if it has none.
    static func ofStateDirectory(_ configuration: Configuration) throws -> [UInt8]? {
        let path = path(configuration)
        return access(path, F_OK) == 0 ? try key(at: path) : nil
    }

    /// Copies the file of a key durably.
    static func copy(from source: String, to target: String) throws {
        guard try write(try key(at: source), to: target) else { throw CommandFailure("\(target) exists already") }
    }

    /// The keys of this host; makes one (mode 0600) where it has none. Only for an installation without a key, and for
    /// one whose key is given up: elsewhere a file made here would hide that the right one is missing.
    static func make(_ configuration: Configuration) throws -> SecretSealer {
        if let existing = try existing(configuration) { return existing }
        let directory = configuration.stateDirectory
        let path = path(configuration)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        _ = try write(SecureRandom.bytes(32), to: path)
        return SecretSealer(keys: [Redacted(try key(at: path))])
    }

    /// Writes a key's file (mode 0600) where there is none; whether there was none. It is written aside and linked into place,
    /// so that of two processes one wins and none reads half a key.
    private static func write(_ key: [UInt8], to path: String) throws -> Bool {
        let text = Array((Hex.encode(key) + "\n").utf8)
        let draft = "\(path).\(Hex.encode(SecureRandom.bytes(4)))"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CommandFailure("cannot write \(draft): \(String(cString: strerror(errno)))") }
        defer { unlink(draft) }
        let isWritten = Glibc.write(file, text, text.count) == text.count && fsync(file) == 0
        let reason = String(cString: strerror(errno))
        close(file)
        guard isWritten else { throw CommandFailure("cannot write \(draft): \(reason)") }
        return link(draft, path) == 0
    }

    private static func key(at path: String) throws -> [UInt8] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let key = Hex.decode(String(text.filter { !$0.isWhitespace })), key.count == 32
        else { throw CommandFailure("\(path) is not a key of 64 hex digits") }
        return key
    }

    /// Where no key is known yet: notes this host's, made if need be. Elsewhere nothing is done.
    static func begin(_ configuration: Configuration, on connection: PostgresConnection) throws {
        try SealingKeyRegister.begin(now: SystemClock().now(), on: connection) { try make(configuration) }
    }

    /// For a command that seals: the keys of this host, among which is the one in use. Nothing is sealed anew: another
    /// host may not have this one's newest key yet.
    ///
    /// - Throws: `CommandFailure` that says where the key is to be put.
    static func sealing(_ configuration: Configuration, on connection: PostgresConnection) throws -> SecretSealer {
        try begin(configuration, on: connection)
        let sealer = try existing(configuration) ?? SecretSealer(keys: [])
        guard let missing = try SealingKeyRegister.missing(from: sealer, on: connection) else { return sealer }
        throw CommandFailure(
            "the key \(missing), which seals the webhook secrets, is not on this host: \(remedy(configuration))")
    }

    /// What an operator can do where the key in use is missing.
    static func remedy(_ configuration: Configuration) -> String {
        let place =
            configuration.webhooks.secretKeys.isEmpty
            ? "copy \(fileName) into \(configuration.stateDirectory) from the host that has it, or set webhooks.secret_keys"
            : "add it to webhooks.secret_keys and restart the worker"
        return "\(place); if it is lost: entitled secrets reset"
    }

    /// Reads the keys again and again, for a worker.
    static func reader(_ configuration: Configuration, logger: Logger) -> @Sendable () -> SecretSealer {
        let memory = Monitor(Memory())
        return {
            memory.change { memory in
                do {
                    memory.learn(try existing(configuration))
                    memory.failure = nil
                } catch {
                    let text = "\(error)"
                    if memory.failure != text { logger.error("sealing key not read", ["error": .string(text)]) }
                    memory.failure = text
                }
                return memory.sealer
            }
        }
    }

    /// What a worker has read. A file that is replaced or removed while the worker runs takes no key from it.
    private struct Memory {
        var sealer = SecretSealer(keys: [])
        var failure: String?

        mutating func learn(_ found: SecretSealer?) {
            if let found, found.fingerprint != sealer.fingerprint { sealer = found.followed(by: sealer) }
        }
    }
}
