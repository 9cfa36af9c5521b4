import Base
import CLI
import Database

/// What the commands of `entitled notifications` take.
package enum NotificationOptions {
    /// `notifications list`.
    package struct List: Sendable, Equatable {
        package let state: NotificationState?
        package let app: String?
        package let environment: StoreEnvironment?
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            state = parsed.text("--state").flatMap(NotificationState.init(rawValue:))
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    /// `notifications show`.
    package struct Show: Sendable, Equatable {
        package let uuid: String
        /// These say which, where a UUID is in two apps or environments.
        package let app: String?
        package let environment: StoreEnvironment?
        package let raw: Bool

        package init(_ parsed: ParsedArguments) {
            raw = parsed.has("--raw")
            uuid = parsed.text("UUID") ?? ""
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
        }
    }

    package static let list = CommandDeclaration(
        "list", "List notifications, newest first.",
        options: [
            OptionDeclaration(
                "--state", .choice(NotificationState.allCases.map(\.rawValue), "STATE"),
                "Only those: pending waits to be applied, held could not be applied and is tried again."),
            OptionDeclaration("--app", .text("ID"), "Only those of this app."),
            OptionDeclaration("--environment", .environment, "Only those of this environment."),
            ListLimit.option,
        ],
        examples: ["notifications list --state held", "notifications list --limit 1000 --json"])

    package static let show = CommandDeclaration(
        "show", "Show a notification and its signed payload.",
        arguments: [ArgumentDeclaration(.text("UUID"), "Its notificationUUID.")],
        options: [
            OptionDeclaration("--app", .text("ID"), "Of this app, where the UUID is in two."),
            OptionDeclaration("--environment", .environment, "Of this environment, where the UUID is in two."),
            OptionDeclaration("--raw", "Only what Apple signed, byte for byte as it came and without a line end."),
        ],
        examples: [
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20 --raw | entitled verify -",
        ])

    package static let reprocess = CommandDeclaration(
        "reprocess", "Apply a notification again, or release a held one.",
        discussion: "Applying what was applied before changes nothing and sends nothing.",
        arguments: [ArgumentDeclaration(.text("UUID"), "Its notificationUUID.")],
        options: [
            OptionDeclaration("--app", .text("ID"), "Of this app, where the UUID is in two."),
            OptionDeclaration("--environment", .environment, "Of this environment, where the UUID is in two."),
        ],
        examples: ["notifications reprocess 002e14d5-51f5-4503-b5a8-c3a1af68eb20"])

    package static let declarations = [list, show, reprocess]
}

/// How many rows a list shows.
package enum ListLimit {
    package static let standard = 50

    static let option = OptionDeclaration(
        "--limit", .integer(1...100_000, "N"), "At most so many; \(standard) without it.")
}
