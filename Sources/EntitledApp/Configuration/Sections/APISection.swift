import API
import Base
import Daemon
import HTTP
import Subscriptions

extension Configuration {
    package struct API: Sendable {
        package let listen: ListenAddress
        package let publicKeys: [Redacted<String>]
        package let secretKeys: [Redacted<String>]
        package let applyTimeout: Duration
        /// How old what a standby answers may be.
        package let readLag: Duration
        package let maxConnectionsPerAddress: Int
        /// `*` for any.
        package let corsOrigins: [String]
        /// What callers may cost, and the proxies that say which address a request is from.
        package let limits: LimitSettings

        init(_ section: ConfigurationSection) {
            listen = section.value(
                "listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8081),
                "Address that accepts requests of apps and backends.")
            publicKeys = section.value(
                "public_keys", .list(of: .apiKey), default: [], isSecret: true,
                "Public API keys, for apps, such as appl_….")
            secretKeys = section.value(
                "secret_keys", .list(of: .apiKey), default: [], isSecret: true,
                "Secret API keys, for backends, such as sk_…. `entitled keys create` creates others, without a restart."
            )
            applyTimeout = section.value(
                "apply_timeout", .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(10),
                "How long a response waits until a posted transaction is applied; then it is 503, and nothing is lost. Below the"
                    + " timeout of apps, which is 30 s in RevenueCat's SDKs.")
            readLag = section.value(
                "read_lag", .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(1),
                "How far the standby of database.api_read_url may be behind. What was written through this process is read"
                    + " back at once; what was written through another one may be read so much later.")
            maxConnectionsPerAddress = Int(
                section.value(
                    "max_connections_per_address", .integer(1...65535, unit: "(connections)"), default: 256,
                    "Open connections of one address at a time (IPv6: of one /64 network); one more is closed at once."
                        + " Loopback and private addresses have no such limit, since a proxy there brings all requests: limit"
                        + " them in the proxy."))
            corsOrigins = section.value(
                "cors_origins", .list(of: .origin), default: [], example: #"["https://app.example.com"]"#,
                "Web pages that may send requests, by their origin; \"*\" for any. Empty: none, and no CORS header is sent."
                    + " Secret keys are always rejected from web pages.")
            let proxies = section.value(
                "trusted_proxies", .list(of: .networkRange), default: TrustedProxies.standard,
                "Proxies whose X-Forwarded-For says which address a request is from, as CIDR ranges: the right-most address in"
                    + " it that is not one of them. The default is this host. Name the network of proxies elsewhere, but only"
                    + " of proxies that write the header themselves: what passes on TCP (Docker's ports, Kubernetes'"
                    + " services, some balancers) passes on what clients forge. Where the header holds no public address,"
                    + " the client is unknown and has no limit by address; a warning in the log says so once.")
            limits = section.section(
                "limits",
                "Limits of requests by caller, as POINTS/TIME, or off. \"30000/1m\" is 30000 points at once, and again as they come"
                    + " back over a minute. A request that reads costs 1, one that writes 5, each 4 KiB of body 1 more, and a"
                    + " customer created by reading 10 more. Beyond the limit receipts and attributes are answered 503, all else"
                    + " 429, with Retry-After. Each process counts by itself."
            ) { API.limits($0, TrustedProxies(proxies)) }
        }

        private static func limits(_ section: ConfigurationSection, _ proxies: TrustedProxies) -> LimitSettings {
            let standard = LimitSettings()
            var limits = standard
            limits.address = section.value(
                "address", .requestLimit, default: standard.address,
                "For requests of one address; of IPv6 it is the /64. Not for secret keys, and not where the address is unknown"
                    + " (api.trusted_proxies).")
            limits.appUserID = section.value(
                "app_user_id", .requestLimit, default: standard.appUserID,
                "For requests about one app user id. Not for secret keys. Beyond the limit, requests about the"
                    + " customer are rejected, whatever address they come from."
            )
            limits.appleAccount = section.value(
                "apple_account", .requestLimit, default: standard.appleAccount,
                "For posts of signed data of one Apple account, with any key. Forged data does not count."
            )
            limits.publicKey = section.value(
                "public_key", .requestLimit, default: standard.publicKey,
                "For requests with one public key. All copies of an app share it, so this is a ceiling for the whole app."
            )
            limits.secretKey = section.value(
                "secret_key", .requestLimit, default: standard.secretKey, "For requests with one secret key.")
            limits.proxies = proxies
            return limits
        }
    }
}
