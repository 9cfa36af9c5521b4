import AppStore
import CLI
import Daemon
import Database
import Subscriptions

/// Whether the filters of an endpoint can ever let anything through.
enum EndpointFilters {
    /// Throws `UsageError`.
    ///
    /// Apple adds types of notifications at any time, so that one not known here is taken, with a warning.
    static func check(
        events: [String], apps: [String], format: EndpointFormat, _ configuration: Configuration,
        _ context: CommandContext
    ) throws {
        try check(events: events, format: format, context)
        let configured = configuration.apps.map(\.id)
        // What was granted is of no app, and has a name in its place.
        for app in apps where !configured.contains(app) && app != Grant.app {
            throw UsageError(
                "--app \(app): no app has this id; configured: \(configured.joined(separator: ", "))")
        }
    }

    /// The types alone.
    static func check(events: [String], format: EndpointFormat, _ context: CommandContext) throws {
        for event in events {
            switch format {
            case .revenuecat: try checkEvent(event)
            case .raw: try checkNotificationType(event, context)
            }
        }
    }

    static func checkEvent(_ event: String) throws(UsageError) {
        if let objection = EventType.objection(to: event) {
            throw UsageError("--event \(Terminal.harmless(event)): \(objection)")
        }
    }

    private static func checkNotificationType(_ type: String, _ context: CommandContext) throws(UsageError) {
        guard !NotificationType(rawValue: type).isKnown else { return }
        guard !EventType.allCases.contains(where: { $0.rawValue == type }) else {
            throw UsageError(
                "--event \(type) is an event type; raw notifications have Apple's types, such as DID_RENEW")
        }
        let isPlausible = type.utf8.allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let meant = Suggestion.closest(to: type, in: NotificationType.known.map(\.rawValue).sorted())
        guard isPlausible, type.utf8.count <= 64 else {
            let hint = meant.map { "did you mean \($0)?" } ?? "they look like DID_RENEW"
            throw UsageError("--event \(Terminal.harmless(type)): Apple's types are in capitals; \(hint)")
        }
        context.terminal.printError(
            "note: \(type) is a notification type that this version does not know"
                + (meant.map { "; did you mean \($0)?" } ?? ""))
    }
}
