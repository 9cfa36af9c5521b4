import Base
import Crypto
import FoundationEssentials

/// What makes two notifications the same: Apple's UUID, in one app and environment.
package struct NotificationIdentity: Hashable, Sendable {
    package let app: String
    package let environment: StoreEnvironment
    package let uuid: String

    package init(app: String, environment: StoreEnvironment, uuid: String) {
        self.app = app
        self.environment = environment
        self.uuid = uuid
    }

    /// That of a transaction that an app posted: the same signed words have the same, however the signature or the base64
    /// is spelled.
    ///
    /// - Parameter payload: what Apple signed.
    package static func posted(
        _ payload: [UInt8], app: String, environment: StoreEnvironment
    ) -> NotificationIdentity {
        let digest = Digest.sha256(Array("transaction\n".utf8) + payload)
        return NotificationIdentity(
            app: app, environment: environment, uuid: UUIDText.upper(Array(digest.prefix(16))))
    }

    /// The 16 bytes that the deduplication table keeps.
    package var key: [UInt8] { NotificationIdentity.key(uuid) }

    /// The UUID's own bytes; of a text that is no UUID, the beginning of its SHA-256.
    package static func key(_ uuid: String) -> [UInt8] {
        guard let parsed = UUID(uuidString: uuid) else {
            return Array(Digest.sha256(Array(uuid.utf8)).prefix(16))
        }
        return withUnsafeBytes(of: parsed.uuid) { Array($0) }
    }
}
