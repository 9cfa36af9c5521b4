import Base
import Crypto
import Postgres
import Subscriptions
import Synchronization

/// What the anonymous ids of owners are made with, besides what everybody may know: a secret of the installation. Who has
/// the id of a customer may act for them in an app, and ids of transactions can be guessed and are passed around.
package final class OwnerSalt: Sendable {
    private let known = Mutex<[UInt8]?>(nil)

    package init() {}

    private static let select = "SELECT salt FROM entitled.owner_salt"

    /// Read once. An empty salt is none: so it is where there were customers before there were salts.
    package func digest(on connection: PostgresConnection) throws -> SaltedDigest {
        let salt = try salt(on: connection)
        return { text in
            let bytes = Array(text.utf8)
            return salt.isEmpty ? Digest.sha256(bytes) : Digest.hmacSHA256(key: salt, bytes)
        }
    }

    private func salt(on connection: PostgresConnection) throws -> [UInt8] {
        if let known = known.withLock({ $0 }) { return known }
        let read = try connection.query(OwnerSalt.select).one().bytes("salt")
        known.withLock { $0 = read }
        return read
    }
}
