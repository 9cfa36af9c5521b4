import Base
import Daemon

extension Configuration {
    /// Sending events.
    package struct Webhooks: Sendable {
        /// The waits after the end of the previous attempt; one attempt more than these.
        package let retrySchedule: [Duration]
        package let timeout: Duration
        /// Requests to one endpoint at the same time, of all workers together.
        package let maxInFlightPerEndpoint: Int
        /// Requests of one worker at the same time.
        package let maxInFlight: Int
        /// How long an endpoint may fail; zero: without end.
        package let disableAfter: Duration
        /// Where operators get notices about endpoints.
        package let operationsURL: String?
        /// CIDR ranges of private addresses that consumers may have.
        package let allowPrivateNetworks: [String]
        /// Nil: consumers are connected to directly.
        package let proxy: Redacted<String>?
        package let http2: Bool
        package let keepResponseBodies: Bool
        /// Millionths of a US dollar per unit, by currency.
        package let usdRates: [String: Int64]
        /// 32 bytes each, the newest first; empty: the key in the state directory.
        package let secretKeys: [Redacted<[UInt8]>]

        private static let waits = Duration.milliseconds(100)...Duration.seconds(30 * 86400)

        init(_ section: ConfigurationSection) {
            retrySchedule = section.value(
                "retry_schedule", .list(of: .duration(Webhooks.waits), 0...100),
                default: [1, 12, 24, 48, 72].map { .seconds($0 * 3600) },
                "Waits after the end of each failed attempt; after the last attempt a delivery is dead.")
            timeout = section.value(
                "timeout", .duration(.milliseconds(100)...(.seconds(300))), default: .seconds(30),
                "How long a consumer may take to answer.")
            maxInFlightPerEndpoint = Int(
                section.value(
                    "max_in_flight_per_endpoint", .integer(1...1000, unit: "requests"), default: 8,
                    "Concurrent requests to one endpoint, from all workers together: each worker has a share of at least"
                        + " one request. Fewer while the endpoint fails."))
            maxInFlight = Int(
                section.value(
                    "max_in_flight", .integer(1...10_000, unit: "requests"), default: 256,
                    "Concurrent requests of one worker. Failing and slow endpoints together get at most half of them."
                ))
            disableAfter = section.value(
                "disable_after", .durationOrNever(.seconds(60)...(.seconds(365 * 86400))),
                default: .seconds(120 * 3600),
                "An endpoint without a success for this time, and after at least 10 failed attempts, is disabled; its events"
                    + " are held until `entitled endpoints enable`. Operators are warned at a fifth and at three fifths of the"
                    + " time. 0s or never: no endpoint is disabled for failing.")
            operationsURL = section.value(
                "operations_url", .optional(.webhookURL), default: nil, example: #""https://ops.example.com/entitled""#,
                "URL for notices about endpoints that fail, are disabled, recover, or have dead deliveries: signed"
                    + " webhooks of an endpoint of its own, we_operations. `entitled endpoints rotate-secret we_operations`"
                    + " creates its secret and shows it. https:, or http: into allow_private_networks.")
            allowPrivateNetworks = section.value(
                "allow_private_networks", .list(of: .networkRange), default: [], example: #"["10.0.0.0/8"]"#,
                "Private networks that webhooks may reach, also by http:, as CIDR ranges. All other private addresses are rejected."
            )
            proxy = section.value(
                "proxy", .optional(.proxyURL), default: nil, example: #""http://user:password@proxy.internal:4750""#,
                isSecret: true,
                "A proxy for all webhooks, by http://, https:// or socks5h://. It resolves names and connects, so it must"
                    + " refuse private addresses itself, as smokescreen does; addresses in URLs and ports are checked here as"
                    + " well. Failures of the proxy itself do not count as attempts.")
            http2 = section.value(
                "http2", .flag, default: false,
                "Offer HTTP/2 to consumers that speak TLS. Many deliveries then share one connection.")
            keepResponseBodies = section.value(
                "keep_response_bodies", .flag, default: true,
                "Store consumers' answers with the attempts: 16 KiB of the body, and the head of failures.")
            usdRates = section.value(
                "usd_rates", .dollarRates, default: [:], example: "{ EUR: 1.08, JPY: 0.0067 }",
                "Value of one unit of other currencies in US dollars, for the `price` of events; without a rate it is null."
                    + " `price_in_purchased_currency` is always what the customer paid.")
            secretKeys = section.value(
                "secret_keys", .list(of: .sealingKey), default: [], isSecret: true,
                "Keys that encrypt the stored secrets of endpoints, the newest first: 32 random bytes each (openssl rand"
                    + " -base64 32). Empty: the first process that needs a key creates one in state_dir; with processes on"
                    + " several hosts all need the same keys. A new one seals nothing before `entitled secrets rewrap`: give"
                    + " it to every host first.")
        }
    }
}
