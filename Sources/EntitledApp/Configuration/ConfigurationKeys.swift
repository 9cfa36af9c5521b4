import API
import AppStore
import Base
import Daemon
import Database
import Subscriptions
import Worker

/// Every key: the parser, the help, the JSON Schema and the example file all follow this table.
package enum ConfigurationKeys {
    typealias Key = ConfigurationKey

    static let stateDirectory = Key<String>(
        "state_dir", .path, default: "./.entitled",
        "What is kept outside the database: the private Postgres cluster, the key that encrypts stored secrets."
            + " Started by root, the default is /var/lib/entitled.")
    static let drainTimeout = Key<Duration>(
        "drain_timeout", .duration(.milliseconds(100)...(.seconds(600))), default: .seconds(20),
        "How long a process may take to end in order after SIGTERM.")

    enum Database {
        static let url = Key<Redacted<String>?>(
            "database.url", .optional(.databaseURL), default: nil, isSecret: true,
            "Postgres, as the owner of the schema. Not set: `entitled run` starts a private cluster in state_dir.")
        static let ingestURL = Key<Redacted<String>?>(
            "database.ingest_url", .optional(.databaseURL), default: nil, isSecret: true,
            "What the ingest role connects with; not set: database.url, and the role is taken after connecting.")
        static let workerURL = Key<Redacted<String>?>(
            "database.worker_url", .optional(.databaseURL), default: nil, isSecret: true,
            "The same for the worker. Behind PgBouncer all three are needed.")
        static let apiURL = Key<Redacted<String>?>(
            "database.api_url", .optional(.databaseURL), default: nil, isSecret: true,
            "The same for the api.")
    }

    enum Ingest {
        private static let timeouts = Duration.milliseconds(100)...Duration.seconds(600)

        static let listen = Key<ListenAddress>(
            "ingest.listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8080),
            "Where the App Store's notifications arrive, usually behind a proxy that ends TLS.")
        static let maxBodyBytes = Key<Int64>(
            "ingest.max_body_bytes", .integer(1024...(64 << 20), unit: "(bytes)"), default: 1 << 20,
            "A larger body is refused with 413 before it is read.")
        static let headerTimeout = Key<Duration>(
            "ingest.header_timeout", .duration(timeouts), default: .seconds(10),
            "How long the head of a request may take.")
        static let bodyTimeout = Key<Duration>(
            "ingest.body_timeout", .duration(timeouts), default: .seconds(30),
            "How long the body of a request may take.")
        static let idleTimeout = Key<Duration>(
            "ingest.idle_timeout", .duration(timeouts), default: .seconds(60),
            "How long a connection stays open between requests.")
        static let maxConnections = Key<Int64>(
            "ingest.max_connections", .integer(1...65535, unit: "(connections)"), default: 1000,
            "Open connections at a time; one more is closed at once, or takes the place of the one that has been silent longest."
        )
        static let maxConnectionsPerAddress = Key<Int64>(
            "ingest.max_connections_per_address", .integer(1...65535, unit: "(connections)"), default: 256,
            "Of them, those of one address (IPv6: of one /64 network). Loopback and private addresses have no such limit, since"
                + " a proxy there brings all requests.")
        static let tlsCertificateFile = Key<String?>(
            "ingest.tls_certificate_file",
            .optional(.readableFile("the path of a certificate chain (PEM, the server's own first)")), default: nil,
            "Speak TLS (1.2 or newer), without a proxy, with this certificate; needs ingest.tls_key_file too."
                + " Both are read again on SIGHUP.")
        static let tlsKeyFile = Key<String?>(
            "ingest.tls_key_file", .optional(.readableFile("the path of a private key (PEM, no password)")),
            default: nil, "The private key of ingest.tls_certificate_file.")
    }

    enum Worker {
        static let lease = Key<Duration>(
            "worker.lease", .duration(.seconds(2)...(.seconds(300))), default: .seconds(10),
            "How long a lane stays with a worker that is gone; renewed at a third of it.")
        static let expiryPatience = Key<Duration>(
            "worker.expiry_patience", .duration(.zero...(.seconds(30 * 86400))), default: .seconds(86400),
            "How long after its expiry a subscription that should renew is believed to have ended; six hours at most where"
                + " Apple's history was looked through since (apps[].server_api) and holds no news of it.")
    }

    enum Retention {
        private static let longest = Duration.seconds(3650 * 86400)
        /// As far back as Apple's history reaches: what is in it may come again.
        private static let history = Duration.seconds(180 * 86400)

        static let notifications = Key<Duration>(
            "retention.notifications", .duration(history...longest), default: .seconds(400 * 86400),
            "How long notifications are kept as Apple sent them; what they said of purchases is kept forever.")
        static let attempts = Key<Duration>(
            "retention.attempts", .duration(.seconds(7 * 86400)...longest), default: .seconds(90 * 86400),
            "How long it is kept what came of each attempt to deliver a webhook.")
        static let events = Key<Duration>(
            "retention.events", .duration(history...longest), default: .seconds(400 * 86400),
            "How long events and their finished deliveries are kept, from the last thing that happened to them.")
        static let emptyCustomers = Key<Duration>(
            "retention.empty_customers", .durationOrNever(.seconds(86400)...longest), default: .seconds(90 * 86400),
            "How long a customer with nothing but an id is kept after the last request for it. 0s or never keeps it without end."
        )
    }

    enum Reconcile {
        static let enabled = Key<Bool>(
            "reconcile.enabled", .flag, default: true,
            "Whether the worker looks into Apple's notification history by itself, for every app with server_api.")
        static let interval = Key<Duration>(
            "reconcile.interval", .duration(.seconds(60)...(.seconds(86400))), default: .seconds(3600),
            "How often; what Apple could not deliver is found so soon, all else within a day.")
        static let statusCallsPerHour = Key<Int64>(
            "reconcile.status_calls_per_hour", .integer(0...36000, unit: "(calls)"), default: 600,
            "How often at most, for each app, Apple is asked how a subscription stands that ended without a word or is"
                + " in billing retry. 0: never.")
    }

    static let defaultGracePeriod = Key<Duration>(
        "default_grace_period", .duration(.zero...(.seconds(28 * 86400))), default: .seconds(3 * 86400),
        "How long access goes on after an unpaid period where Apple says that there is grace and gives no end."
            + " Apple's own grace periods last 3, 16 or 28 days.")

    static let restoreBehavior = Key<RestoreBehavior>(
        "restore_behavior", .word, default: .transfer,
        "What becomes of a purchase that one customer owns and another restores."
            + " transfer: it moves. transfer_if_no_active_subs: only if nothing of the owner's runs. error: it stays."
            + " share: both become one customer. A purchase of an anonymous customer always joins the two.")

    enum Privacy {
        static let deletion = Key<DeletionPolicy>(
            "privacy.deletion", .word, default: .pseudonymise,
            "What becomes of what is stored about a customer who is deleted."
                + " pseudonymise: purchases, events and the log stay, and name nobody."
                + " erase: everything about their purchases goes too.")
    }

    static let entitlementsFromSandbox = Key<Configuration.SandboxAccess>(
        "entitlements_from_sandbox", .sandboxAccess, default: .all,
        "Whose sandbox purchases give entitlements; App Review and TestFlight buy in the sandbox.")

    enum API {
        static let listen = Key<ListenAddress>(
            "api.listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8081),
            "Where apps, backends and operators ask.")
        static let publicKeys = Key<[Redacted<String>]>(
            "api.public_keys", .list(of: .apiKey), default: [], isSecret: true,
            "Keys that apps carry.")
        static let secretKeys = Key<[Redacted<String>]>(
            "api.secret_keys", .list(of: .apiKey), default: [], isSecret: true,
            "Keys of backends and operators.")
        static let applyTimeout = Key<Duration>(
            "api.apply_timeout", .duration(.milliseconds(100)...(.seconds(60))), default: .seconds(10),
            "How long an answer waits until what was posted is applied; then it is 503, and nothing is lost. Below the"
                + " timeout of apps, which is 30 s in RevenueCat's SDKs.")
        static let maxConnectionsPerAddress = Key<Int64>(
            "api.max_connections_per_address", .integer(1...65535, unit: "(connections)"), default: 256,
            "Open connections of one address at a time (IPv6: of one /64 network); one more is closed at once. Loopback and"
                + " private addresses have no such limit, since a proxy there brings all requests.")
        static let trustedProxies = Key<[String]>(
            "api.trusted_proxies", .list(of: .networkRange), default: TrustedProxies.standard,
            "Proxies whose X-Forwarded-For says where a request is from, as CIDR ranges: the right-most address in it that"
                + " is not one of them. Where that is no public address, or none is told, the client is unknown and has no"
                + " limit by address.")
        static let corsOrigins = Key<[String]>(
            "api.cors_origins", .list(of: .origin), default: [],
            "Web pages that may ask, by their origin; \"*\" for any. Empty: none, and no CORS header is sent."
                + " Secret keys are refused there always.")
    }

    /// Points for a time; 1 for a request that reads, 5 for one that writes.
    enum Limits {
        private static let standard = LimitSettings()

        static let address = Key<RequestLimit>(
            "api.limits.address", .requestLimit, default: standard.address,
            "What requests of one address may cost, in points for a time; of IPv6 it is the /64. A request that reads"
                + " costs 1, one that writes 5, a customer made by reading 10 more. Not for secret keys, and not where the"
                + " address is unknown (api.trusted_proxies).")
        static let appUserID = Key<RequestLimit>(
            "api.limits.app_user_id", .requestLimit, default: standard.appUserID,
            "The same for requests about one app user id. Not for secret keys.")
        static let appleAccount = Key<RequestLimit>(
            "api.limits.apple_account", .requestLimit, default: standard.appleAccount,
            "The same for posts of what Apple signed for one Apple account, with whatever key. What is forged does not"
                + " count.")
        static let publicKey = Key<RequestLimit>(
            "api.limits.public_key", .requestLimit, default: standard.publicKey,
            "The same for one public key. All copies of an app share it, so this is a ceiling for the whole app.")
        static let secretKey = Key<RequestLimit>(
            "api.limits.secret_key", .requestLimit, default: standard.secretKey, "The same for one secret key.")
    }

    static let adminListen = Key<ListenAddress>(
        "admin.listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 9464),
        "Health (/healthz, /readyz) and metrics (/metrics) of every process; keep it private.")

    enum Trust {
        /// Apple Root CA - G3, https://www.apple.com/certificateauthority/.
        static let appleRoot = "63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179"

        static let rootSHA256 = Key<[[UInt8]]>(
            "trust.root_sha256", .list(of: .sha256), default: Hex.decode(appleRoot).map { [$0] } ?? [],
            "Roots that are trusted, by the SHA-256 of their certificate. The default is Apple Root CA - G3.")
        static let rootFiles = Key<[[[UInt8]]]>(
            "trust.root_files", .list(of: .certificateFile), default: [],
            "Further roots, as files (PEM or DER); for tests, such as the root of storesim.")
        /// Apple Root CA, the same page.
        static let appleReceiptRoot = "B0B1730ECBC7FF4505142C49F1295E6EDA6BCAED7E2C68C5BE91B5A11001F024"

        static let receiptRootSHA256 = Key<[[UInt8]]>(
            "trust.receipt_root_sha256", .list(of: .sha256),
            default: Hex.decode(appleReceiptRoot).map { [$0] } ?? [],
            "The same for app receipts, which apps without StoreKit 2 post. The default is Apple Root CA; root_files count"
                + " here too.")
        static let ocsp = Key<RevocationMode>(
            "trust.ocsp", .word, default: .soft,
            "Whether Apple is asked (OCSP, by http:) if the certificates it signs with are revoked."
                + " soft: what a revoked one signed is refused, and nothing waits for an answer."
                + " hard: without a fresh answer nothing is taken either; Apple sends it again later.")
    }

    static let entitlements = Key<[String: [String]]>(
        "entitlements",
        .map("an object of entitlements, each with a list of product ids", of: .list(of: .name("a product id"))),
        default: [:], "Entitlements and the products that give them.")

    static let products = Key<[String: ProductDuration]>(
        "products", .productDurations, default: [:],
        "Durations of products that do not renew: how long access lasts, from each purchase on. Not set: forever. A change"
            + " counts for earlier purchases too; run `entitled rebuild` then.")

    static let offerings = Key<[Offering]>(
        "offerings", .offerings, default: [],
        "What apps show for sale: offerings, their packages in the order shown, and the product of each, for every platform"
            + " or by platform (ios, macos, tvos, watchos, visionos, uikitformac). metadata, paywall and paywall_components"
            + " are JSON, or the path of a JSON file.")
    static let currentOffering = Key<String?>(
        "current_offering", .optional(.name("the name of an offering")), default: nil,
        "The offering that is current; not set: the one called default, else the only one.")

    static let userInterface = Key<JSON?>(
        "ui_config", .optional(.design(PaywallShapes.userInterface)), default: nil,
        "Colours, fonts and words that the paywall_components of all offerings share, as JSON or the path of a JSON file."
    )

    enum Placements {
        static let offerings = Key<[String: String?]>(
            "placements.offerings",
            .map("an object of places, each with an offering or null", of: .optional(.name("the name of an offering"))),
            default: [:],
            "The offering that each place in an app shows, by the name that the app gives the place; null: none.")
        static let fallback = Key<String?>(
            "placements.fallback", .optional(.name("the name of an offering")), default: nil,
            "The offering of all other places; not set: the customer's current one.")
    }

    enum Reports {
        static let tax = Key<[String: Share]>(
            "reports.tax", .sharesByCountry, default: [:],
            "Taxes as a share of the price that customers pay, by country of their storefront, for `tax_percentage` of"
                + " events; elsewhere 0. Of a price with 19 % VAT it is 0.1597: 0.19 / 1.19.")
    }

    enum Webhooks {
        private static let waits = Duration.milliseconds(100)...Duration.seconds(30 * 86400)

        static let retrySchedule = Key<[Duration]>(
            "webhooks.retry_schedule", .list(of: .duration(waits), 0...100),
            default: [1, 12, 24, 48, 72].map { .seconds($0 * 3600) },
            "The waits after the end of each failed attempt; after the last one a delivery is dead.")
        static let timeout = Key<Duration>(
            "webhooks.timeout", .duration(.milliseconds(100)...(.seconds(300))), default: .seconds(30),
            "How long a consumer may take to answer.")
        static let maxInFlightPerEndpoint = Key<Int64>(
            "webhooks.max_in_flight_per_endpoint", .integer(1...1000, unit: "requests"), default: 8,
            "Requests to one endpoint at the same time, from all workers together: each takes its part, but never less"
                + " than one. Fewer while the endpoint fails.")
        static let maxInFlight = Key<Int64>(
            "webhooks.max_in_flight", .integer(1...10_000, unit: "requests"), default: 256,
            "Requests of one worker at the same time. Endpoints that fail or are slow get half of them together.")
        static let disableAfter = Key<Duration>(
            "webhooks.disable_after", .durationOrNever(.seconds(60)...(.seconds(365 * 86400))),
            default: .seconds(120 * 3600),
            "An endpoint without any success for so long, and after at least 10 failed attempts, is disabled; its events"
                + " are held. Operators are warned at a fifth and at three fifths of the time. 0s or never: off.")
        static let operationsURL = Key<String?>(
            "webhooks.operations_url", .optional(.webhookURL), default: nil,
            "Where operators are told of endpoints that fail, are disabled, recover, or have deliveries given up: signed"
                + " webhooks of an endpoint of its own, we_operations. https:, or http: into allow_private_networks.")
        static let allowPrivateNetworks = Key<[String]>(
            "webhooks.allow_private_networks", .list(of: .networkRange), default: [],
            "Private networks that webhooks may reach, also by http:, as CIDR ranges. All others are refused.")
        static let proxy = Key<Redacted<String>?>(
            "webhooks.proxy", .optional(.proxyURL), default: nil, isSecret: true,
            "Through which all webhooks go. The proxy resolves names and connects, so it must refuse private addresses"
                + " itself; addresses in URLs and ports are judged here as well. Its own faults cost no attempt.")
        static let http2 = Key<Bool>(
            "webhooks.http2", .flag, default: false,
            "Offer HTTP/2 to consumers that speak TLS. Many deliveries then share one connection.")
        static let keepResponseBodies = Key<Bool>(
            "webhooks.keep_response_bodies", .flag, default: true,
            "Keep what consumers answer with the attempts: 16 KiB of the body, and the head where it was no success.")
        static let usdRates = Key<[String: Int64]>(
            "webhooks.usd_rates", .dollarRates, default: [:],
            "What currencies are worth in US dollars, for the `price` of events; without a rate it is null."
                + " `price_in_purchased_currency` is always what the customer paid.")
        static let secretKeys = Key<[Redacted<[UInt8]>]>(
            "webhooks.secret_keys", .list(of: .sealingKey), default: [], isSecret: true,
            "Keys that encrypt the stored secrets of endpoints, the newest first."
                + " Empty: one is made in state_dir by the first process that needs it."
                + " A new one seals nothing before `entitled secrets rewrap`: give it to every host first.")
    }

    static let logLevel = Key<Logger.Level>(
        "log.level", .word, default: .info, "The least level that is written to standard error.")

    enum App {
        static let id = Key<String>(
            "apps[].id",
            .identifier("1 to 64 letters, digits, dots, hyphens, underscores", marks: "._-", longest: 64),
            default: "", isRequired: true, "The app's name in commands, events and the database; never change it.")
        static let bundleID = Key<String>(
            "apps[].bundle_id",
            .identifier("a bundle id: letters, digits, dots, hyphens", marks: ".-", longest: 155),
            default: "", isRequired: true, "What Apple signed must be for this bundle.")
        static let appleAppID = Key<Int64?>(
            "apps[].apple_app_id", .optional(.integer(1...Int64.max)), default: nil,
            "The app's Apple ID in App Store Connect; checked, and so required, in production.")
        static let environments = Key<[StoreEnvironment]>(
            "apps[].environments", .list(of: .word, 1...10), default: [.production, .sandbox],
            "The environments whose notifications are taken.")
        static let publicKeys = Key<[Redacted<String>]>(
            "apps[].public_keys", .list(of: .apiKey), default: [], isSecret: true,
            "Keys that this app carries. Those of api.public_keys are of every app.")
        static let restoreBehavior = Key<RestoreBehavior?>(
            "apps[].restore_behavior", .optional(.word), default: nil,
            "restore_behavior for what is bought in this app; not set: the general one. What is set for a customer, by"
                + " `entitled customers restore-behavior`, comes before it.")
        static let sandboxRestoreBehavior = Key<RestoreBehavior?>(
            "apps[].sandbox_restore_behavior", .optional(.word), default: nil,
            "The same for what is bought in the app's sandbox; not set: the app's.")
        static let commission = Key<[SellerTerms.Commission]>(
            "apps[].commission", .commission, default: [.standard],
            "Apple's share of prices without taxes, for `commission_percentage` of events: 0.15 in the Small Business Program."
                + " A list says what counts for periods that begin at a date or later; after_a_year is for subscribers who"
                + " have paid for a year of service. What is in no list is Apple's standard, the default.")
        static let ownerWait = Key<OwnerWait.Setting>(
            "apps[].owner_wait", .ownerWait(.zero...(.seconds(86400))), default: .automatic,
            "How long the first webhook of a purchase that is signed without a token waits for the app's post, which"
                + " names the buyer; the record is there at once. auto: two minutes while posts of this app come in,"
                + " else not at all.")
        static let accountTokens = Key<Configuration.App.AccountTokens>(
            "apps[].account_tokens", .word, default: .appUserIDs,
            "What app account tokens are that purchases are signed with. app_user_ids: they name the customer who"
                + " buys. ignored: they name no customer. A change counts for what is signed from then on.")
        static let issuerID = Key<String>(
            "apps[].server_api.issuer_id", .name("the issuer id of App Store Connect's In-App Purchase keys"),
            default: "", isRequired: true, "For Apple's Server API: whose key it is.")
        static let keyID = Key<String>(
            "apps[].server_api.key_id",
            .identifier("the id of the key: letters and digits", marks: "", longest: 64),
            default: "", isRequired: true, "For Apple's Server API: which key it is.")
        static let privateKeyFile = Key<String>(
            "apps[].server_api.private_key_file", .privateKeyFile, default: "", isRequired: true,
            "For Apple's Server API: the key itself.")
        static let baseURL = Key<String?>(
            "apps[].server_api.base_url", .optional(.baseURL), default: nil,
            "Another server in place of Apple's, for every environment; for tests. By http: only on this host.")
        static let sandboxBaseURL = Key<String?>(
            "apps[].server_api.sandbox_base_url", .optional(.baseURL), default: nil,
            "The same for the sandbox alone; not set: base_url.")

        /// What signs promotional offers.
        enum SubscriptionOffers {
            static let keyID = Key<String>(
                "apps[].subscription_offers.key_id",
                .identifier("the id of the key: letters and digits", marks: "", longest: 64),
                default: "", isRequired: true, "Which key it is.")
            static let privateKeyFile = Key<String>(
                "apps[].subscription_offers.private_key_file", .privateKeyFile, default: "", isRequired: true,
                "The key itself: an In-App Purchase key of App Store Connect.")
        }

        enum Refunds {
            static let policy = Key<Configuration.Refunds.Policy>(
                "apps[].refunds.policy", .word, default: .never,
                "What is done where Apple asks how a purchase was used, before it decides on a refund."
                    + " never: nothing. auto: it is answered with preference. ask: you answer within 12 hours, by"
                    + " `entitled refunds answer`, and are warned two hours before.")
            static let preference = Key<Configuration.Refunds.Preference?>(
                "apps[].refunds.preference", .optional(.word), default: nil,
                "For auto: what you would like Apple to do; not set: no wish is told.")
            static let consent = Key<Bool>(
                "apps[].refunds.consent", .flag, default: false,
                "Whether your customers agreed that Apple is told of their use. Apple demands it; without it there is no"
                    + " auto.")
            static let sampleContent = Key<Bool>(
                "apps[].refunds.sample_content", .flag, default: false,
                "For auto: whether customers could try the content before they bought it.")
        }

        /// Another key, which serves where Apple refuses the first.
        enum Previous {
            static let issuerID = Key<String?>(
                "apps[].server_api.previous.issuer_id",
                .optional(.name("the issuer id of App Store Connect's In-App Purchase keys")), default: nil,
                "Whose key it is; not set: that of server_api.")
            static let keyID = Key<String>(
                "apps[].server_api.previous.key_id",
                .identifier("the id of the key: letters and digits", marks: "", longest: 64),
                default: "", isRequired: true, "Which key it is.")
            static let privateKeyFile = Key<String>(
                "apps[].server_api.previous.private_key_file", .privateKeyFile, default: "", isRequired: true,
                "The key itself.")
        }
    }
}
