import Base
import CLI
import Database

/// What the commands of `entitled endpoints` take.
package enum EndpointOptions {
    /// `endpoints add`.
    package struct Add: Sendable, Equatable {
        package let url: String
        /// Empty: all.
        package let environments: [StoreEnvironment]
        /// Types of events, or of notifications; empty: all.
        package let events: [String]
        /// Ids of configured apps; empty: all.
        package let apps: [String]
        package let ordering: Ordering
        /// Events since then are sent to it too.
        package let since: TimeArgument?
        package let format: EndpointFormat
        package let isAsymmetric: Bool
        /// Nil: a new one.
        package let secret: WebhookSecret?
        package let request: EndpointRequestOptions

        /// Throws `UsageError`.
        package init(_ parsed: ParsedArguments) throws {
            url = parsed.text("URL") ?? ""
            environments = parsed.texts("--environment").compactMap(StoreEnvironment.init(rawValue:))
            events = parsed.texts("--event")
            apps = parsed.texts("--app")
            ordering = parsed.text("--ordering").flatMap(Ordering.init(rawValue:)) ?? .none
            since = parsed.moment("--since")
            format = parsed.text("--format").flatMap(EndpointFormat.init(name:)) ?? .revenuecat
            isAsymmetric = parsed.has("--asymmetric")
            secret = try WebhookSecretOption.value(parsed)
            request = try EndpointRequestOptions(parsed)
            guard format == .revenuecat || ordering == .none && since == nil else {
                throw UsageError("--format raw goes neither with --ordering purchase nor with --since")
            }
        }
    }

    /// `endpoints enable`.
    package struct Enable: Sendable, Equatable {
        /// What becomes of deliveries that wait for it.
        package enum Held: Sendable {
            case deliver
            case drop
        }

        package let id: String
        /// Nil: ask on a terminal, else deliver.
        package let held: Held?

        package init(_ parsed: ParsedArguments) throws {
            let (delivers, drops) = (parsed.has("--deliver-held"), parsed.has("--drop-held"))
            if delivers, drops { throw UsageError("--deliver-held and --drop-held exclude each other") }
            id = parsed.text("ID") ?? ""
            held = delivers ? .deliver : drops ? .drop : nil
        }
    }

    /// The commands that take one endpoint: show, disable, test, remove.
    package struct One: Sendable, Equatable {
        package let id: String

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
        }
    }

    package static let add = CommandDeclaration(
        "add", "Add an endpoint and print its secret once.",
        discussion:
            "Without options it gets every event. The secret (whsec_…) signs each request; it is shown only now."
            + " With --format raw it gets Apple's notifications instead, as they came, for a second consumer of them;"
            + " --event then names Apple's types, such as DID_RENEW.",
        arguments: [
            ArgumentDeclaration(
                .text("URL"), "Where events are posted; https:, or http: into webhooks.allow_private_networks.")
        ],
        options: filters + EndpointRequestOptions.declarations + WebhookSecretOption.declarations + [
            OptionDeclaration(
                "--asymmetric", "Sign with an ed25519 key pair too (v1a), and show its public key (whpk_…)."),
            OptionDeclaration(
                "--format", .choice(EndpointFormat.allCases.map(\.name), "FORMAT"),
                "What it gets: events in RevenueCat's format (the default), or Apple's notifications as they came."),
            ordering,
            OptionDeclaration(
                "--since", .moment, "Sends it the events since then too, as `replay webhooks --missing`."),
        ],
        examples: [
            "endpoints add https://example.com/hooks",
            "endpoints add https://example.com/hooks --environment Production --event RENEWAL --event EXPIRATION",
            "endpoints add https://example.com/apple --format raw --header 'X-Tenant: demo'",
            "endpoints add https://example.com/hooks --secret-file secret.txt",
        ])

    static let ordering = OptionDeclaration(
        "--ordering", .choice(Ordering.allCases.map(\.rawValue), "ORDERING"),
        "purchase: the next event of a purchase goes only when the one before it is delivered or given up; none, the"
            + " default: each goes at once.")

    static let filters = [
        OptionDeclaration("--environment", .environment, isRepeatable: true, "Only what is of this environment."),
        OptionDeclaration("--event", .text("TYPE"), isRepeatable: true, "Only what is of this type, such as RENEWAL."),
        OptionDeclaration(
            "--app", .text("ID"), isRepeatable: true,
            "Only what is of this app; $promotional: what was granted, which is of no other."),
    ]

    package static let list = CommandDeclaration(
        "list", "List endpoints with their state and health.", examples: ["endpoints list", "endpoints list --json"])

    package static let show = one(
        "show", "Show an endpoint, its health, and when it would be disabled.")
    package static let enable = CommandDeclaration(
        "enable", "Enable an endpoint and release its held deliveries.",
        discussion:
            "Events of the time when it was disabled were kept for it. On a terminal it asks what to do with them;"
            + " elsewhere they are delivered unless --drop-held is given. What is dropped can be sent later with"
            + " `replay webhooks --failed`.",
        arguments: [ArgumentDeclaration(.text("ID"), "The endpoint's id, as `endpoints list` shows it.")],
        options: [
            OptionDeclaration("--deliver-held", "Sends what was kept for it."),
            OptionDeclaration("--drop-held", "Gives up what was kept for it: dead deliveries with that reason."),
        ],
        examples: ["endpoints enable ID", "endpoints enable ID --drop-held"])
    package static let disable = one("disable", "Disable an endpoint and hold its deliveries.")
    package static let test = one("test", "Send a TEST event to an endpoint.")
    package static let remove = one(
        "remove", "Remove an endpoint and give up its pending deliveries.", options: [Confirmation.option])

    package static let declarations = [
        add, update, list, show, enable, disable, rotateSecret, test, remove,
    ]

    static let id = ArgumentDeclaration(.text("ID"), "The endpoint's id, as `endpoints list` shows it.")

    private static func one(
        _ name: String, _ summary: String, options: [OptionDeclaration] = []
    ) -> CommandDeclaration {
        CommandDeclaration(
            name, summary, arguments: [id], options: options,
            examples: ["endpoints \(name) ID"])
    }
}
