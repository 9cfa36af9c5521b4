import Base
import CLI
import Database

/// The commands that change an endpoint's settings or secrets.
extension EndpointOptions {
    /// `endpoints update`.
    package struct Update: Sendable {
        package let id: String
        /// With the URL as it was given.
        package let changes: EndpointEdit

        /// Throws `UsageError`.
        package init(_ parsed: ParsedArguments) throws {
            id = parsed.text("ID") ?? ""
            let request = try EndpointRequestOptions(parsed)
            for (option, other) in EndpointOptions.opposites where parsed.has(option) && parsed.has(other) {
                throw UsageError("\(option) and \(other) exclude each other")
            }
            var changes = EndpointEdit()
            changes.url = parsed.text("--url")
            changes.environments = Update.filter("--environment", "--all-environments", parsed)
                .map { $0.compactMap(StoreEnvironment.init(rawValue:)) }
            changes.events = Update.filter("--event", "--all-events", parsed)
            changes.exceptedEvents = Update.filter("--except", "--all-events", parsed)
            // Each takes the place of the other.
            if parsed.has("--event") { changes.exceptedEvents = [] }
            if parsed.has("--except") { changes.events = [] }
            changes.includesSubscriber = EndpointOptions.includesSubscriber(parsed)
            changes.extensionVersion = parsed.text("--extension-version")
            changes.apps = Update.filter("--app", "--all-apps", parsed)
            changes.authorization =
                request.authorization.map { .set($0) } ?? (parsed.has("--no-authorization") ? .clear : .keep)
            changes.retrySchedule =
                request.schedule.map { .set($0) } ?? (request.wantsStandardSchedule ? .clear : .keep)
            changes.ordering = parsed.text("--ordering").flatMap(Ordering.init(rawValue:))
            changes.headers = request.headers
            changes.withoutHeaders = parsed.texts("--no-header")
            changes.isAsymmetric = parsed.has("--asymmetric") ? true : parsed.has("--symmetric") ? false : nil
            self.changes = changes
            guard EndpointOptions.update.options.contains(where: { parsed.has($0.name) }) else {
                throw UsageError("endpoints update needs something to change; see entitled endpoints update --help")
            }
        }

        private static func filter(_ option: String, _ all: String, _ parsed: ParsedArguments) -> [String]? {
            parsed.has(option) ? parsed.texts(option) : parsed.has(all) ? [] : nil
        }
    }

    /// `endpoints rotate-secret`.
    package struct RotateSecret: Sendable, Equatable {
        package let id: String
        package let overlap: Duration
        /// Nil: a new one.
        package let secret: WebhookSecret?

        package init(_ parsed: ParsedArguments) throws {
            secret = try WebhookSecretOption.value(parsed)
            id = parsed.text("ID") ?? ""
            overlap = parsed.duration("--overlap") ?? EndpointSecrets.standardOverlap
        }
    }

    fileprivate static let opposites = [
        ("--environment", "--all-environments"), ("--event", "--all-events"), ("--except", "--all-events"),
        ("--event", "--except"), ("--app", "--all-apps"),
        ("--authorization", "--no-authorization"), ("--authorization-file", "--no-authorization"),
        ("--asymmetric", "--symmetric"),
    ]

    package static let update = CommandDeclaration(
        "update", "Change an endpoint's filters, headers or order.",
        discussion: "Only what is given changes; a filter that is given takes the place of the former one. Secrets, and"
            + " what waits to be sent, stay as they are: a new retry schedule counts from the next failed attempt on."
            + " What a consumer gets, events or notifications, cannot be changed: add another.",
        arguments: [id],
        options: [
            OptionDeclaration("--url", .text("URL"), "Where it is posted.")
        ] + filters + [
            OptionDeclaration("--all-environments", "No filter of environments any more."),
            OptionDeclaration("--all-events", "No filter of types any more."),
            OptionDeclaration("--all-apps", "No filter of apps any more."),
        ] + EndpointRequestOptions.declarations + [
            EndpointOptions.include, EndpointOptions.extensionVersion, EndpointOptions.ordering,
            OptionDeclaration("--no-authorization", "No authorization header any more."),
            OptionDeclaration("--no-header", .text("NAME"), isRepeatable: true, "Without this header from now on."),
            OptionDeclaration("--asymmetric", "Sign with an ed25519 key pair too (v1a)."),
            OptionDeclaration("--symmetric", "Sign with the secret only; the key pair is thrown away."),
        ],
        examples: [
            "endpoints update ID --url https://example.com/new --all-events",
            "endpoints update ID --retry-schedule 1m,5m,30m,2h", "endpoints update ID --retry-schedule default",
        ])

    package static let rotateSecret = CommandDeclaration(
        "rotate-secret", "Create a new secret and print it once; former secrets also sign for a while.",
        discussion: "Each former secret keeps the end that it has, but ends after --overlap at the latest. After a"
            + " leak: --overlap 0s, which ends all former ones now. Where there is a key pair, it is rotated too.",
        arguments: [id],
        options: [
            OptionDeclaration(
                "--overlap", .duration(.zero...EndpointSecrets.overlapLimit),
                "How long former secrets live at most; without it 24h."),
            Confirmation.option,
        ] + WebhookSecretOption.declarations,
        examples: ["endpoints rotate-secret ID", "endpoints rotate-secret ID --overlap 0s"])
}
