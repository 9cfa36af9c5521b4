import Base
import Crypto

/// What is kept of a password: parameters, salt and hash, as `scrypt$15$8$3$SALT$HASH` in base64url.
package struct PasswordHash: Sendable, Equatable {
    /// Characters of a password.
    package static let lengths = 12...256
    /// 32 MiB and some tenths of a second.
    package static let cost = Scrypt.Cost(logN: 15, r: 8, p: 3)
    private static let saltSize = 16
    private static let size = 32

    private let cost: Scrypt.Cost
    private let salt: [UInt8]
    private let hash: [UInt8]

    /// Nil where OpenSSL has no memory for it.
    package init?(of password: Redacted<String>, cost: Scrypt.Cost = PasswordHash.cost) {
        let salt = SecureRandom.bytes(PasswordHash.saltSize)
        guard
            let hash = Scrypt.derive(
                Array(password.exposed.utf8), salt: salt, cost, count: PasswordHash.size)
        else { return nil }
        (self.cost, self.salt, self.hash) = (cost, salt, hash)
    }

    /// Nil for a text that is none of these.
    package init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "scrypt", let logN = Int(parts[1]), let r = Int(parts[2]),
            let p = Int(parts[3]), let salt = Base64.decodeURL(parts[4].utf8),
            let hash = Base64.decodeURL(parts[5].utf8), !hash.isEmpty
        else { return nil }
        cost = Scrypt.Cost(logN: logN, r: r, p: p)
        (self.salt, self.hash) = (salt, hash)
    }

    /// One that no password has, which costs as much to check as a real one: an unknown name must take as long.
    package static let none = PasswordHash(
        cost: cost, salt: SecureRandom.bytes(saltSize), hash: SecureRandom.bytes(size))

    private init(cost: Scrypt.Cost, salt: [UInt8], hash: [UInt8]) {
        (self.cost, self.salt, self.hash) = (cost, salt, hash)
    }

    package var text: String {
        "scrypt$\(cost.logN)$\(cost.r)$\(cost.p)$\(Base64.encodeURL(salt))$\(Base64.encodeURL(hash))"
    }

    /// Whether it is of this password; takes the time of its cost.
    package func isOf(_ password: Redacted<String>) -> Bool {
        guard let derived = Scrypt.derive(Array(password.exposed.utf8), salt: salt, cost, count: hash.count) else {
            return false
        }
        return ConstantTime.equal(derived, hash)
    }

    /// Whether it was made with the parameters of today.
    package var isCurrent: Bool { cost == PasswordHash.cost && hash.count == PasswordHash.size }
}
