import Base
import Crypto
import Database
import FoundationEssentials
import Glibc
import Postgres

/// The keys that seal the secrets of endpoints: the configuration's, else one in the state directory.
enum SealingKeys {
    private static let fileName = "webhook-secrets.key"

    /// Makes the key if there is none (mode 0600).
    static func load(_ configuration: Configuration) throws -> SecretSealer {
        guard configuration.webhooks.secretKeys.isEmpty else {
            return SecretSealer(keys: configuration.webhooks.secretKeys)
        }
        return SecretSealer(keys: [Redacted(try keyInStateDirectory(configuration.stateDirectory))])
    }

    private static func keyInStateDirectory(_ directory: String) throws -> [UInt8] {
        let path = "\(directory)/\(fileName)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let made = Array((Hex.encode(SecureRandom.bytes(32)) + "\n").utf8)
        // Written aside and linked into place, so that of two processes one wins and nobody reads half a key.
        let draft = "\(path).\(Hex.encode(SecureRandom.bytes(4)))"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CommandFailure("cannot write \(draft): \(String(cString: strerror(errno)))") }
        let isWritten = write(file, made, made.count) == made.count && fsync(file) == 0
        close(file)
        if isWritten { link(draft, path) }
        unlink(draft)
        return try key(at: path)
    }

    private static func key(at path: String) throws -> [UInt8] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let key = Hex.decode(String(text.filter { !$0.isWhitespace })), key.count == 32
        else { throw CommandFailure("\(path) is no key: 64 hex digits are expected") }
        return key
    }

    /// The same, but nothing is made; nil if there is no key.
    static func existing(_ configuration: Configuration) throws -> SecretSealer? {
        let path = "\(configuration.stateDirectory)/\(fileName)"
        guard configuration.webhooks.secretKeys.isEmpty else { return try load(configuration) }
        return access(path, F_OK) == 0 ? SecretSealer(keys: [Redacted(try key(at: path))]) : nil
    }

    /// That the key which seals the secrets in the database is among these; the first key of an installation is noted
    /// there. Nothing is sealed anew: another host may not have this one's newest key yet.
    static func check(_ sealer: SecretSealer, _ configuration: Configuration, on connection: PostgresConnection) throws
    {
        do {
            try SealingKeyRegister.check(sealer, now: SystemClock().now(), on: connection)
        } catch let missing as SealingKeyRegister.Missing {
            throw CommandFailure(
                "the webhook secrets in the database were sealed with another key (\(missing.fingerprint)): copy "
                    + "\(fileName) from the host that made it into \(configuration.stateDirectory), or give the key in "
                    + "webhooks.secret_keys")
        }
    }
}
