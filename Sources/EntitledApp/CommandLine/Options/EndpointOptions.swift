import Base

/// What the commands of `entitled endpoints` take.
package enum EndpointOptions {
    /// `endpoints add`.
    package struct Add: Sendable, Equatable {
        package let url: String
        /// The verbatim value of the `authorization` header.
        package let authorization: String?
        /// Empty: all.
        package let environments: [StoreEnvironment]
        /// Types of events; empty: all.
        package let events: [String]
        /// Ids of configured apps; empty: all.
        package let apps: [String]
        /// Events since then are sent to it too.
        package let since: Moment?

        package init(_ parsed: ParsedArguments) {
            since = parsed.moment("--since")
            url = parsed.text("URL") ?? ""
            authorization = parsed.text("--authorization")
            environments = parsed.texts("--environment").compactMap(StoreEnvironment.init(rawValue:))
            events = parsed.texts("--event")
            apps = parsed.texts("--app")
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
        /// Nil: ask, where somebody can be asked, else deliver.
        package let held: Held?

        package init(_ parsed: ParsedArguments) throws {
            let (delivers, drops) = (parsed.has("--deliver-held"), parsed.has("--drop-held"))
            if delivers, drops { throw UsageError("--deliver-held and --drop-held: only one of them") }
            id = parsed.text("ID") ?? ""
            held = delivers ? .deliver : drops ? .drop : nil
        }
    }

    /// The commands that take one endpoint: show, disable, rotate-secret, test, remove.
    package struct One: Sendable, Equatable {
        package let id: String

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
        }
    }

    package static let add = CommandDeclaration(
        "add", "Adds a consumer and shows its secret, once.",
        discussion:
            "Without options it gets every event. The secret (whsec_…) signs each request; it is shown only now.",
        arguments: [
            ArgumentDeclaration(
                .text("URL"), "Where events are posted; https:, or http: into webhooks.allow_private_networks.")
        ],
        options: [
            OptionDeclaration("--authorization", .text("VALUE"), "The authorization header, sent as it is."),
            OptionDeclaration("--environment", .environment, isRepeatable: true, "Only events of this environment."),
            OptionDeclaration(
                "--event", .text("TYPE"), isRepeatable: true, "Only events of this type, such as RENEWAL."),
            OptionDeclaration("--app", .text("ID"), isRepeatable: true, "Only events of this app."),
            OptionDeclaration(
                "--since", .moment, "Sends it the events since then too, as `replay webhooks --missing`."),
        ],
        examples: [
            "endpoints add https://example.com/hooks",
            "endpoints add https://example.com/hooks --environment Production --event RENEWAL --event EXPIRATION",
        ])

    package static let list = CommandDeclaration(
        "list", "Lists all consumers and their state.", examples: ["endpoints list", "endpoints list --json"])

    package static let show = one("show", "Shows a consumer.")
    package static let enable = CommandDeclaration(
        "enable", "Lets a disabled consumer have its events again, also those it missed.",
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
    package static let disable = one("disable", "Holds a consumer's events back until it is enabled.")
    package static let rotateSecret = one(
        "rotate-secret", "Makes a new secret and shows it, once; the old one stays alive for a while.")
    package static let test = one("test", "Sends a consumer an event of type TEST.")
    package static let remove = one("remove", "Removes a consumer; what is on its way to it is given up.")

    package static let declarations = [add, list, show, enable, disable, rotateSecret, test, remove]

    private static func one(_ name: String, _ summary: String) -> CommandDeclaration {
        CommandDeclaration(
            name, summary,
            arguments: [ArgumentDeclaration(.text("ID"), "The endpoint's id, as `endpoints list` shows it.")],
            examples: ["endpoints \(name) ID"])
    }
}
