import Base
import Crypto

/// What `storesim serve` writes into a folder for its users: the certificates of `PKIFolder`, the key of the
/// Server API as Apple gives it (`AuthKey_….p8`), and a configuration of `entitled` (`entitled.json5`). What is there is
/// used again.
struct ServeFolder {
    /// Absolute, so that what names files in it can be used from anywhere.
    let path: String

    /// Makes it where it is missing.
    init(making path: String) throws {
        try FileAccess.makeFolder(path)
        self.path = FileAccess.absolute(path)
    }

    private var idsPath: String { "\(path)/server_api.json" }

    /// The certificates, made if there are none.
    func pki(now: Int64) throws -> StorePKI {
        let folder = PKIFolder(path)
        guard !FileAccess.exists(folder.rootPath) else { return try folder.load() }
        let made = try StorePKI.generate(now: now)
        try folder.write(made)
        return made
    }

    func keyPath(_ keyID: String) -> String { "\(path)/AuthKey_\(keyID).p8" }

    /// The key of the Server API with its names, made if there is none.
    func token(bundleID: String) throws -> TokenCheck {
        if FileAccess.exists(idsPath) {
            let ids = try JSON(parsing: try FileAccess.read(idsPath))
            guard let issuer = ids["issuer_id"]?.stringValue, let keyID = ids["key_id"]?.stringValue else {
                throw PKIFolder.Failure.malformed(idsPath)
            }
            let pem = String(decoding: try FileAccess.read(keyPath(keyID)), as: UTF8.self)
            return TokenCheck(issuerID: issuer, keyID: keyID, key: try SigningKey(pem: pem), bundleID: bundleID)
        }
        let made = try TokenCheck.generate(bundleID: bundleID)
        try FileAccess.write(keyPath(made.keyID), Array(try made.key.pem().utf8), mode: 0o600)
        let ids = JSON.object(["issuer_id": .string(made.issuerID), "key_id": .string(made.keyID)])
        try FileAccess.write(idsPath, ids.bytes + [UInt8(ascii: "\n")])
        return made
    }

    /// A configuration that works with the store that listens there; its path.
    func writeConfiguration(_ app: StoreApp, _ token: TokenCheck, _ pki: StorePKI, baseURL: String) throws -> String {
        let text = """
            // For the App Store that `storesim serve` plays. Never trust its root in production.
            {
              trust: { root_sha256: ["\(pki.rootFingerprint)"] },
              apps: [
                {
                  id: "demo",
                  bundle_id: \(JSON.string(app.bundleID).text),
                  apple_app_id: \(app.appleAppID),
                  environments: ["\(app.environment)"],
                  server_api: {
                    issuer_id: "\(token.issuerID)",
                    key_id: "\(token.keyID)",
                    private_key_file: \(JSON.string(keyPath(token.keyID)).text),
                    base_url: "\(baseURL)",
                  },
                },
              ],
              entitlements: { pro: ["pro_monthly", "pro_yearly", "pro_lifetime"], basic: ["basic_monthly"] },
            }

            """
        let file = "\(path)/entitled.json5"
        try FileAccess.write(file, Array(text.utf8))
        return file
    }
}

extension TokenCheck {
    /// A new key with new names.
    package static func generate(bundleID: String) throws -> TokenCheck {
        var random = SystemRandomNumberGenerator()
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        let keyID = String((0..<10).compactMap { _ in letters.randomElement(using: &random) })
        var issuer = SeededRandom(seed: random.next())
        return TokenCheck(
            issuerID: issuer.uuid(), keyID: keyID, key: try SigningKey.generate(.p256), bundleID: bundleID)
    }
}
