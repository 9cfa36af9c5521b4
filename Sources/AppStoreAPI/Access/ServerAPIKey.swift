import Crypto

/// A key for Apple's Server API, as App Store Connect gives it (Users and Access, Integrations, In-App Purchase):
/// https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
package struct ServerAPIKey: Sendable {
    package let issuerID: String
    package let keyID: String
    let key: SigningKey

    /// Why a text is no such key; holds nothing of it.
    package struct Flaw: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// - Parameter pem: what the `.p8` file holds: PKCS #8 in PEM.
    package init(issuerID: String, keyID: String, pem: String) throws(Flaw) {
        self.issuerID = issuerID
        self.keyID = keyID
        key = try ServerAPIKey.read(pem)
    }

    /// What is wrong with the contents of a `.p8` file; nil if nothing is.
    package static func flaw(in pem: String) -> String? {
        do throws(Flaw) {
            _ = try read(pem)
            return nil
        } catch {
            return error.description
        }
    }

    private static func read(_ pem: String) throws(Flaw) -> SigningKey {
        guard pem.contains("-----BEGIN PRIVATE KEY-----") else { throw Flaw(description: "it contains no private key") }
        let key: SigningKey
        do throws(IssuingError) {
            key = try SigningKey(pem: pem)
        } catch {
            throw Flaw(description: "not a private key on P-256, as Apple's are: \(error)")
        }
        guard key.curve == .p256 else {
            throw Flaw(description: "the private key is on \(key.curve.rawValue), Apple's are on P-256")
        }
        return key
    }
}
