import AppStore
import Base
import Daemon
import Subscriptions
import Worker

extension Configuration {
    package struct App: Sendable {
        /// What app account tokens are.
        package enum AccountTokens: String, Sendable, CaseIterable {
            case appUserIDs = "app_user_ids"
            case ignored
        }

        package let id: String
        package let bundleID: String
        /// Never nil where `environments` has production.
        package let appleAppID: Int64?
        /// In the order of the configuration, each once.
        package let environments: [StoreEnvironment]
        /// What this app alone carries.
        package let publicKeys: [Redacted<String>]
        /// In place of the general one; nil: that counts.
        package let restoreBehavior: RestoreBehavior?
        /// The same for the sandbox alone.
        package let sandboxRestoreBehavior: RestoreBehavior?
        /// How long the first event of a purchase waits for the name of its buyer.
        package let ownerWait: OwnerWait.Setting
        package let accountTokens: AccountTokens
        /// What Apple keeps of prices; never empty.
        package let commission: [SellerTerms.Commission]
        package let serverAPI: ServerAPI?
        package let subscriptionOffers: SubscriptionOffers?
        package let refunds: Refunds

        init(_ section: ConfigurationSection) {
            id = section.required(
                "id", .identifier("1 to 64 letters, digits, dots, hyphens, underscores", marks: "._-", longest: 64),
                placeholder: "", example: #""demo""#,
                "Id of the app in commands, events and the database; never change it.")
            bundleID = section.required(
                "bundle_id", .identifier("a bundle id: letters, digits, dots, hyphens", marks: ".-", longest: 155),
                placeholder: "", example: #""com.example.app""#, "Bundle id that Apple's signed data must have.")
            appleAppID = section.value(
                "apple_app_id", .optional(.integer(1...Int64.max)), default: nil, example: "1234567890",
                "The app's Apple ID in App Store Connect; checked, and so required, in production.")
            let environments: [StoreEnvironment] = section.value(
                "environments", .list(of: .word, 1...10), default: [.production, .sandbox],
                "The environments whose notifications are accepted.")
            self.environments = environments.reduce(into: []) { list, next in
                if !list.contains(next) { list.append(next) }
            }
            publicKeys = section.value(
                "public_keys", .list(of: .apiKey), default: [], isSecret: true,
                "Public API keys of this app. Those of api.public_keys belong to every app.")
            restoreBehavior = section.value(
                "restore_behavior", .optional(.word), default: nil,
                "restore_behavior for purchases of this app; not set: the general one. A customer's own setting, from"
                    + " `entitled customers restore-behavior`, has precedence.")
            sandboxRestoreBehavior = section.value(
                "sandbox_restore_behavior", .optional(.word), default: nil,
                "The same for purchases in the app's sandbox; not set: that of the app.")
            commission = section.value(
                "commission", .commission, default: [.standard],
                example: #"[{ from: "2025-01-01", rate: 0.3, after_a_year: 0.15 }]"#,
                "Apple's share of prices without taxes, for `commission_percentage` of events: a number, such as 0.15 in the"
                    + " Small Business Program, or a list of rates, each for periods that begin at its date or later;"
                    + " after_a_year is for subscribers who have paid for a year of service. Periods in no list get"
                    + " Apple's standard rate, the default."
            )
            ownerWait = section.value(
                "owner_wait", .ownerWait(.zero...(.seconds(86400))), default: .automatic,
                "How long the first webhook of a purchase that is signed without a token waits for the app's post, which"
                    + " names the buyer; the record is there at once. auto: two minutes while posts of this app come in, else"
                    + " not at all.")
            accountTokens = section.value(
                "account_tokens", .word, default: .appUserIDs,
                "Meaning of the app account tokens of signed purchases. app_user_ids: they name the customer who buys."
                    + " ignored: they name no customer. A change applies to data signed afterwards.")
            serverAPI = section.optional(
                "server_api",
                "Access to Apple's Server API, which finds missed notifications; without it nothing is fetched.",
                ServerAPI.init)
            subscriptionOffers = section.optional(
                "subscription_offers",
                "Key that signs promotional offers (POST /v1/offers); not set: the key of server_api.",
                SubscriptionOffers.init)
            refunds = section.section(
                "refunds",
                "Answers to Apple's requests about the use of a purchase (CONSUMPTION_REQUEST), before it decides on a refund.",
                Refunds.init)
        }
    }

    /// What is done where Apple asks before it decides on a refund.
    package struct Refunds: Sendable {
        package enum Policy: String, Sendable, CaseIterable {
            case never, auto, ask
        }

        package enum Preference: String, Sendable, CaseIterable {
            case decline
            case grantFull = "grant_full"
        }

        package let policy: Policy
        package let preference: Preference?
        /// Whether all customers have consented to sharing their use with Apple.
        package let hasConsent: Bool
        package let providesSamples: Bool

        init(_ section: ConfigurationSection) {
            policy = section.value(
                "policy", .word, default: .never,
                "never: no answer. auto: each request is answered with preference. ask: you answer within 12 hours, with"
                    + " `entitled refunds answer`; a warning comes two hours before the deadline.")
            preference = section.value(
                "preference", .optional(.word), default: nil,
                "For auto: the decision that you prefer; not set: none.")
            hasConsent = section.value(
                "consent", .flag, default: false,
                "Whether your customers consented to sharing their use with Apple. Apple requires it, so auto does."
            )
            providesSamples = section.value(
                "sample_content", .flag, default: false,
                "For auto: whether customers could try the content before they bought it.")
        }
    }

    /// Credentials for Apple's App Store Server API.
    package struct ServerAPI: Sendable {
        package let issuerID: String
        package let keyID: String
        /// Absolute path; its content is read by the processes that sign with it, and by no other.
        package let privateKeyFile: String
        /// Without a slash at its end; nil for Apple's own.
        package let baseURL: String?
        /// In place of `baseURL` for the sandbox.
        package let sandboxBaseURL: String?
        /// Another key, which serves where Apple refuses the first: while one replaces the other.
        package let previous: PreviousKey?

        init(_ section: ConfigurationSection) {
            let issuerID = section.required(
                "issuer_id", .uuid("the issuer id of App Store Connect's In-App Purchase keys, a UUID"),
                placeholder: "", example: #""57246542-96fe-1a63-e053-0824d011072a""#,
                "Issuer of the key: App Store Connect, Users and Access, Integrations, In-App Purchase.")
            self.issuerID = issuerID
            keyID = section.required(
                "key_id", .identifier("the id of the key: letters and digits", marks: "", longest: 64), placeholder: "",
                example: #""2X9R4HXF34""#, "The id of the key.")
            privateKeyFile = section.required(
                "private_key_file", .privateKeyFile, placeholder: "",
                example: #""/etc/entitled/keys/AuthKey_2X9R4HXF34.p8""#,
                "File with the private key, as downloaded from Apple.")
            baseURL = section.value(
                "base_url", .optional(.baseURL), default: nil,
                "Server to query instead of Apple's, in every environment; for tests. http: only on this host.")
            sandboxBaseURL = section.value(
                "sandbox_base_url", .optional(.baseURL), default: nil,
                "The same for the sandbox alone; not set: base_url.")
            previous = section.optional(
                "previous", "A second key, used when Apple rejects the first, while a new key replaces an old one."
            ) { PreviousKey($0, issuerID: issuerID) }
        }
    }

    /// The other key for Apple's Server API.
    package struct PreviousKey: Sendable {
        package let issuerID: String
        package let keyID: String
        /// Absolute path.
        package let privateKeyFile: String

        init(_ section: ConfigurationSection, issuerID: String) {
            self.issuerID =
                section.value(
                    "issuer_id", .optional(.uuid("the issuer id of App Store Connect's In-App Purchase keys, a UUID")),
                    default: nil, "The issuer of the key; not set: that of server_api.") ?? issuerID
            keyID = section.required(
                "key_id", .identifier("the id of the key: letters and digits", marks: "", longest: 64), placeholder: "",
                example: #""7B3M2KX9QA""#, "The id of the key.")
            privateKeyFile = section.required(
                "private_key_file", .privateKeyFile, placeholder: "",
                example: #""/etc/entitled/keys/AuthKey_7B3M2KX9QA.p8""#,
                "The key itself.")
        }
    }

    /// The key that signs promotional offers.
    package struct SubscriptionOffers: Sendable {
        package let keyID: String
        /// Absolute path.
        package let privateKeyFile: String

        init(_ section: ConfigurationSection) {
            keyID = section.required(
                "key_id", .identifier("the id of the key: letters and digits", marks: "", longest: 64), placeholder: "",
                example: #""2X9R4HXF34""#,
                "The id of the key: App Store Connect, Users and Access, Integrations, In-App Purchase.")
            privateKeyFile = section.required(
                "private_key_file", .privateKeyFile, placeholder: "",
                example: #""/etc/entitled/keys/AuthKey_2X9R4HXF34.p8""#,
                "File with the private key, as downloaded from Apple: an In-App Purchase key.")
        }
    }
}
