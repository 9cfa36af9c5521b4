import API
import AppStore
import Base
import Crypto
import Daemon

/// The keys that sign promotional offers: that of `subscription_offers`, else that of `server_api`.
enum OfferKeys {
    /// - Throws: `CommandFailure` for a key of `subscription_offers` that cannot be read or used.
    static func apps(
        _ configuration: Configuration, readFile: (String) -> FileReading, _ logger: Logger
    ) throws -> [PromotionalOfferRoutes.App] {
        try configuration.apps.map { app in
            PromotionalOfferRoutes.App(id: app.id, bundleID: app.bundleID, key: try key(of: app, readFile, logger))
        }
    }

    private static func key(
        of app: Configuration.App, _ readFile: (String) -> FileReading, _ logger: Logger
    ) throws -> PromotionalOfferSignature.Key? {
        if let own = app.subscriptionOffers { return try key(own.keyID, own.privateKeyFile, readFile) }
        guard let api = app.serverAPI else { return nil }
        do {
            return try key(api.keyID, api.privateKeyFile, readFile)
        } catch {
            // The api may be left without it: only offers need it here.
            logger.notice(
                "promotional offer signing disabled",
                ["app": .string(app.id), "error": .string("\(error)")])
            return nil
        }
    }

    private static func key(
        _ id: String, _ path: String, _ readFile: (String) -> FileReading
    ) throws -> PromotionalOfferSignature.Key {
        let reading = readFile(path)
        guard case .contents(let bytes) = reading else {
            throw CommandFailure("cannot read the key that signs offers, \(path): \(reading.failure ?? "")")
        }
        do throws(IssuingError) {
            return PromotionalOfferSignature.Key(
                id: id, key: try SigningKey(pem: String(decoding: bytes, as: UTF8.self)))
        } catch {
            throw CommandFailure("cannot use the key that signs offers, \(path): \(error)")
        }
    }
}
