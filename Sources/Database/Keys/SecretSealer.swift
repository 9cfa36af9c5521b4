import Base
import Crypto

/// Encrypts what the database must not know: webhook secrets, private keys, authorization and custom headers.
///
/// AES-256-GCM; the first key seals, every key opens. The endpoint's id, and for some what it is, is bound to the text,
/// so that a sealed value moved to another place does not open.
package struct SecretSealer: Sendable {
    private let keys: [Redacted<[UInt8]>]

    /// Keys of 32 bytes, newest first; at least one.
    package init(keys: [Redacted<[UInt8]>]) {
        self.keys = keys
    }

    /// The same with the key of this fingerprint first; nil if it is not among them.
    package func preferring(_ fingerprint: String) -> SecretSealer? {
        guard let place = fingerprints.firstIndex(of: fingerprint) else { return nil }
        var keys = keys
        keys.insert(keys.remove(at: place), at: 0)
        return SecretSealer(keys: keys)
    }

    /// With the keys of another behind its own.
    package func followed(by other: SecretSealer) -> SecretSealer {
        SecretSealer(keys: keys + other.keys.filter { !keys.contains($0) })
    }

    // MARK: - What a text is bound to; a secret and an authorization header: the id alone

    package static func headers(of endpoint: String) -> String { endpoint + " headers" }
    package static func signingKey(of endpoint: String) -> String { endpoint + " ed25519" }

    /// What names the newest key without telling it.
    package var fingerprint: String {
        fingerprints.first ?? ""
    }

    package var fingerprints: [String] {
        keys.map { Hex.encode(Digest.sha256(Array("entitled sealing key".utf8) + $0.exposed).prefix(8)) }
    }

    /// Pairs that follow from the keys, in their order: a process that has a public half can seal to the workers, and opens
    /// nothing.
    package var intakes: [AnswerKey] {
        keys.compactMap { try? AnswerKey(seed: Digest.sha256(Array("entitled intake key".utf8) + $0.exposed)) }
    }

    package func seal(_ plaintext: [UInt8], for endpoint: String) throws -> [UInt8] {
        guard let key = keys.first else { throw NoKey() }
        return try Sealing.seal(plaintext, key: key.exposed, associatedData: Array(endpoint.utf8))
    }

    /// Whether the first key sealed it.
    package func isNewest(_ sealed: [UInt8], for endpoint: String) -> Bool {
        keys.first.flatMap { Sealing.open(sealed, key: $0.exposed, associatedData: Array(endpoint.utf8)) } != nil
    }

    /// Nil when no key fits.
    package func open(_ sealed: [UInt8], for endpoint: String) -> [UInt8]? {
        for key in keys {
            if let plaintext = Sealing.open(sealed, key: key.exposed, associatedData: Array(endpoint.utf8)) {
                return plaintext
            }
        }
        return nil
    }

    /// There is nothing to seal with.
    struct NoKey: Error {}
}
