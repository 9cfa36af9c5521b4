import Base
import CLI
import Daemon
import HTTP
import Subscriptions

/// What no value can be judged by alone.
enum ConfigurationRules {
    static func check(_ configuration: Configuration, _ reader: ConfigurationReader) {
        // A value that was refused is a placeholder by now: what was said of it suffices.
        let flawed = reader.mistakes.map(\.key)
        func isJudged(_ keys: [String]) -> Bool {
            !keys.contains { key in flawed.contains { $0.hasPrefix(key) } }
        }
        for (keys, found, allowed) in broken(configuration) where isJudged(keys) {
            guard let key = keys.first else { continue }
            reader.add(key, found: found, allowed: allowed)
        }
    }

    /// The certificate and the key of the listener: both or neither, and one pair. What this user may not read is judged by
    /// the process that needs it.
    static func checkTLS(_ certificate: String?, _ key: String?, _ reader: ConfigurationReader) {
        let keys = ["ingest.tls_certificate_file", "ingest.tls_key_file"]
        guard !reader.mistakes.contains(where: { keys.contains($0.key) }) else { return }
        func add(_ key: String, _ found: String, _ allowed: String) {
            reader.add(key, found: found, allowed: allowed)
        }
        switch (certificate, key) {
        case (nil, nil): return
        case (nil, _): add(keys[0], "nothing", "the certificate chain of \(keys[1])")
        case (_, nil): add(keys[1], "nothing", "the private key of \(keys[0])")
        case (let certificate?, let key?):
            let readFile = reader.context.readFile
            guard readFile(certificate) != .denied, readFile(key) != .denied else { return }
            do throws(TLSFiles.Failure) {
                _ = try TLSFiles(certificate: certificate, key: key).identity(reading: readFile)
            } catch {
                add(
                    error.key, "\(JSON.string(error.path).shown) (\(error.reason))",
                    "a certificate chain and its private key, in PEM")
            }
        }
    }

    /// The keys that a rule is about, the one to change first; what was found; what is allowed.
    private typealias Breach = (keys: [String], found: String, allowed: String)

    private static func broken(_ configuration: Configuration) -> [Breach] {
        appRules(configuration.apps) + listenerRules(configuration) + keyRules(configuration)
            + offeringRules(configuration.offerings) + trustRules(configuration.trust)
            + operationsRules(configuration.webhooks) + proxyRules(configuration.console)
    }

    /// As for other endpoints; names are looked up, and vetted, when something is sent.
    private static func operationsRules(_ webhooks: Configuration.Webhooks) -> [Breach] {
        guard let url = webhooks.operationsURL.flatMap({ try? OutgoingURL(parsing: $0) }) else { return [] }
        let policy = AddressPolicy(allowedNetworks: webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)))
        var fault =
            url.scheme == .http && webhooks.allowPrivateNetworks.isEmpty ? "http: is not encrypted" : nil
        if let address = url.literalAddress, case .refused(let reason) = policy.verdict(for: url, at: [address]) {
            fault = reason
        }
        return fault.map {
            [
                (
                    ["webhooks.operations_url", "webhooks.allow_private_networks"], "\(url.origin) (\($0))",
                    "an https: URL, or one into webhooks.allow_private_networks"
                )
            ]
        } ?? []
    }

    private static func proxyRules(_ console: Configuration.Console) -> [Breach] {
        guard let proxy = console.proxy, proxy.secret == nil, !proxy.isLocal else { return [] }
        return [
            (
                ["console.proxy.secret", "console.proxy.from"], "nothing",
                "a secret, because console.proxy.from has addresses of other hosts"
            )
        ]
    }

    private static func appRules(_ apps: [Configuration.App]) -> [Breach] {
        var breaches: [Breach] = []
        for (index, app) in apps.enumerated() {
            let place = "apps[\(index)]"
            let before = apps[..<index]
            if let other = before.firstIndex(where: { $0.id == app.id }) {
                breaches.append(
                    (
                        ["\(place).id", "apps[\(other)].id"],
                        "\(JSON.string(app.id).shown), which apps[\(other)] has too", "an id of its own"
                    ))
            }
            if let other = before.firstIndex(where: { $0.bundleID == app.bundleID }) {
                breaches.append(
                    (
                        ["\(place).bundle_id", "apps[\(other)].bundle_id"],
                        "\(JSON.string(app.bundleID).shown), which apps[\(other)] has too", "a bundle id of its own"
                    ))
            }
            if app.refunds.policy == .auto, !app.refunds.hasConsent {
                breaches.append(
                    (
                        ["\(place).refunds.consent", "\(place).refunds.policy"], "false",
                        "true, because policy is \"auto\": Apple accepts answers only with the customers' consent"
                    ))
            }
            if app.refunds.policy == .auto, app.serverAPI == nil {
                breaches.append(
                    (
                        ["\(place).server_api", "\(place).refunds.policy"], "nothing",
                        "a key for Apple's Server API, because refunds.policy is \"auto\""
                    ))
            }
            if let api = app.serverAPI, let previous = api.previous, previous.keyID == api.keyID {
                breaches.append(
                    (
                        ["\(place).server_api.previous.key_id", "\(place).server_api.key_id"],
                        "\(JSON.string(api.keyID).shown), which is key_id too", "the id of another key"
                    ))
            }
            if app.environments.contains(.production), app.appleAppID == nil {
                breaches.append(
                    (
                        ["\(place).apple_app_id", "\(place).environments"], "nothing",
                        "the app's Apple ID, because environments has \"Production\""
                    ))
            }
        }
        return breaches
    }

    /// Every process has the admin listener beside its own.
    private static func listenerRules(_ configuration: Configuration) -> [Breach] {
        let others = [("ingest.listen", configuration.ingest.listen), ("api.listen", configuration.api.listen)]
        return others.filter { configuration.admin.listen.clashes(with: $0.1) }.map { key, _ in
            (["admin.listen", key], "\"\(configuration.admin.listen)\", which \(key) has too", "an address of its own")
        }
    }

    /// Who has a key has to follow from the key.
    private static func keyRules(_ configuration: Configuration) -> [Breach] {
        let api = configuration.api
        let apps = configuration.apps.enumerated().map { (name: "apps[\($0)].public_keys", keys: $1.publicKeys) }
        let lists =
            [(name: "api.public_keys", keys: api.publicKeys), (name: "api.secret_keys", keys: api.secretKeys)] + apps
        var breaches: [Breach] = []
        for (index, list) in lists.enumerated() {
            for other in lists[..<index] where other.keys.contains(where: list.keys.contains) {
                breaches.append(
                    (
                        [other.name, list.name], "a key that \(list.name) has too", "keys that are in one list only"
                    ))
            }
        }
        return breaches
    }

    private static func offeringRules(_ catalogue: OfferingCatalogue) -> [Breach] {
        currentOfferingRules(catalogue) + placementRules(catalogue) + designRules(catalogue)
    }

    /// Places show offerings that there are.
    private static func placementRules(_ catalogue: OfferingCatalogue) -> [Breach] {
        guard let placements = catalogue.placements else { return [] }
        let places = placements.offerings.sorted { $0.key < $1.key }.map {
            ("placements.offerings.\(Terminal.harmless($0.key))", $0.value)
        }
        return (places + [("placements.fallback", placements.fallback)]).compactMap { key, offering in
            guard let offering, !catalogue.has(offering) else { return nil }
            return ([key, "offerings"], JSON.string(offering).shown, names(of: catalogue))
        }
    }

    /// An SDK reads no components without the colours and fonts that they share.
    private static func designRules(_ catalogue: OfferingCatalogue) -> [Breach] {
        let designed = catalogue.offerings.filter { $0.paywallComponents != nil }
        guard let first = designed.first else { return [] }
        guard let shared = catalogue.userInterface else {
            return [
                (
                    ["ui_config", "offerings"], "nothing",
                    "the colours and fonts of the design, because offerings.\(Terminal.harmless(first.identifier)) has"
                        + " paywall_components"
                )
            ]
        }
        let known = Set((shared["app"]?["colors"]?.members ?? []).map(\.name))
        return designed.flatMap { offering -> [Breach] in
            let named = PaywallComponentShapes.colorAliases(in: offering.paywallComponents ?? .null)
            return named.subtracting(known).sorted().map { color in
                (
                    ["ui_config.app.colors", "offerings", "ui_config"], "no \(Terminal.harmless(color))",
                    "every colour that offerings.\(Terminal.harmless(offering.identifier)).paywall_components names"
                )
            }
        }
    }

    private static func names(of catalogue: OfferingCatalogue) -> String {
        catalogue.offerings.isEmpty ? "nothing without offerings" : "one of: \(identifiers(of: catalogue))"
    }

    private static func identifiers(of catalogue: OfferingCatalogue) -> String {
        catalogue.offerings.map { JSON.string($0.identifier).shown }.joined(separator: ", ")
    }

    private static func currentOfferingRules(_ catalogue: OfferingCatalogue) -> [Breach] {
        let keys = ["current_offering", "offerings"]
        guard let current = catalogue.current else {
            return catalogue.offerings.isEmpty
                ? []
                : [
                    (
                        keys, "nothing",
                        "one of the offerings, because none is called default: \(identifiers(of: catalogue))"
                    )
                ]
        }
        guard !catalogue.has(current) else { return [] }
        return [(keys, JSON.string(current).shown, names(of: catalogue))]
    }

    private static func trustRules(_ trust: Configuration.Trust) -> [Breach] {
        guard trust.rootSHA256.isEmpty, trust.rootCertificates.isEmpty else { return [] }
        return [
            (
                ["trust.root_sha256", "trust.root_files", "trust"], "an empty list, and no root_files",
                "at least one root in one of the two"
            )
        ]
    }
}
