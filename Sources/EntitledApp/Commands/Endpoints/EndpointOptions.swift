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
        /// Types that it does not get; empty where `events` is not.
        package let exceptedEvents: [String]
        /// Ids of configured apps; empty: all.
        package let apps: [String]
        package let ordering: Ordering
        /// Events since then are sent to it too.
        package let since: TimeArgument?
        package let format: EndpointFormat
        package let includesSubscriber: Bool
        /// For RevenueCat's Firebase extension.
        package let extensionVersion: String?
        package let isAsymmetric: Bool
        /// Nil: a new one.
        package let secret: WebhookSecret?
        package let request: EndpointRequestOptions

        /// Throws `UsageError`.
        package init(_ parsed: ParsedArguments) throws {
            url = parsed.text("URL") ?? ""
            environments = parsed.texts("--environment").compactMap(StoreEnvironment.init(rawValue:))
            events = parsed.texts("--event")
            exceptedEvents = parsed.texts("--except")
            apps = parsed.texts("--app")
            ordering = parsed.text("--ordering").flatMap(Ordering.init(rawValue:)) ?? .none
            since = parsed.moment("--since")
            let isFirebase = parsed.text("--format") == EndpointFormat.firebase
            format = parsed.text("--format").flatMap(EndpointFormat.init(name:)) ?? .revenuecat
            includesSubscriber = EndpointOptions.includesSubscriber(parsed) ?? false
            extensionVersion =
                isFirebase ? parsed.text("--extension-version") ?? EndpointFormat.newestExtension : nil
            isAsymmetric = parsed.has("--asymmetric")
            secret = try WebhookSecretOption.value(parsed)
            request = try EndpointRequestOptions(parsed)
            guard format == .revenuecat || ordering == .none && since == nil else {
                throw UsageError("--format raw goes neither with --ordering purchase nor with --since")
            }
            guard events.isEmpty || exceptedEvents.isEmpty else { throw UsageError(EndpointOptions.eventOrExcept) }
            guard !includesSubscriber || format == .revenuecat && !isFirebase else {
                throw UsageError("--include subscriber is for events: it goes with --format revenuecat only")
            }
            guard isFirebase || parsed.text("--extension-version") == nil else {
                throw UsageError("--extension-version goes only with --format firebase")
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
            "Without options it gets every event but SUBSCRIBER_ALIAS and CONSUMPTION_REQUEST, which it has to name. The secret (whsec_…) signs each request; it is shown only now."
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
                "--format", .choice(EndpointFormat.allCases.map(\.name) + [EndpointFormat.firebase], "FORMAT"),
                "What it gets: events in RevenueCat's format (the default), Apple's notifications as they came (raw), or"
                    + " events for RevenueCat's Firebase extension (firebase)."),
            include, extensionVersion, ordering,
            OptionDeclaration(
                "--since", .moment, "Sends it the events since then too, as `replay webhooks --missing`."),
        ],
        examples: [
            "endpoints add https://example.com/hooks",
            "endpoints add https://example.com/hooks --environment Production --event RENEWAL --event EXPIRATION",
            "endpoints add https://example.com/apple --format raw --header 'X-Tenant: demo'",
            "endpoints add https://example.com/hooks --secret-file secret.txt",
            "endpoints add https://example.com/hooks --include subscriber --except TEST",
        ])

    static let include = OptionDeclaration(
        "--include", .choice(["subscriber", "none"], "WHAT"),
        "subscriber: each event carries the document of its customer as it is when the event is sent; none, the"
            + " default: it does not.")

    static let extensionVersion = OptionDeclaration(
        "--extension-version", .text("VERSION"),
        "With --format firebase, the version of the extension, which takes no other; without it"
            + " \(EndpointFormat.newestExtension).")

    static let eventOrExcept = "--event and --except exclude each other: the first names all types that it gets"

    /// Nil where it is not said.
    static func includesSubscriber(_ parsed: ParsedArguments) -> Bool? {
        parsed.text("--include").map { $0 == "subscriber" }
    }

    static let ordering = OptionDeclaration(
        "--ordering", .choice(Ordering.allCases.map(\.rawValue), "ORDERING"),
        "purchase: the next event of a purchase goes only when the one before it is delivered or given up; none, the"
            + " default: each goes at once.")

    static let filters = [
        OptionDeclaration("--environment", .environment, isRepeatable: true, "Only what is of this environment."),
        OptionDeclaration("--event", .text("TYPE"), isRepeatable: true, "Only what is of this type, such as RENEWAL."),
        OptionDeclaration("--except", .text("TYPE"), isRepeatable: true, "Nothing that is of this type."),
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
