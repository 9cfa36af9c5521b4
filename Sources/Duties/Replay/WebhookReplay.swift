import Base
import Database

/// What is to be sent to a consumer again.
package struct WebhookReplay: Sendable, Equatable {
    package enum Mode: String, Sendable, CaseIterable {
        /// What was given up.
        case failed
        /// Events that the endpoint wants and never had: it was added later, or its filters were changed.
        case missing
        /// Every event that it wants.
        case all
    }

    package let endpoint: String
    package let mode: Mode
    /// Milliseconds: of deliveries where it is about failed ones, of events otherwise.
    package let since: Int64
    /// Nil: up to when the work begins.
    package let until: Int64?
    /// Only these types; empty: all.
    package let types: [String]
    /// Only events about purchases of which Apple's history brought something that Apple had signed then, in ms since 1970; nil:
    /// all. Only of missing events.
    package let missed: Range<Int64>?

    package init(
        endpoint: String, mode: Mode, since: Int64, until: Int64?, types: [String], missed: Range<Int64>? = nil
    ) {
        self.missed = missed
        self.endpoint = endpoint
        self.mode = mode
        self.since = since
        self.until = until
        self.types = types
    }

    package var json: JSON {
        .object(
            [
                JSON.Member(name: "endpoint", value: .string(endpoint)),
                JSON.Member(name: "mode", value: .string(mode.rawValue)),
                JSON.Member(name: "since_ms", value: .int(since)),
                JSON.Member(name: "until_ms", value: .integer(until)),
                JSON.Member(name: "types", value: .strings(types)),
            ]
                + (missed.map { missed in
                    [
                        JSON.Member(name: "missed_from_ms", value: .int(missed.lowerBound)),
                        JSON.Member(name: "missed_until_ms", value: .int(missed.upperBound)),
                    ]
                } ?? []))
    }

    /// Instants that documents can write: up to the end of the year 9999, in ms since 1970.
    package static let instants: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Nil for what is no such thing: nothing that cannot be read is left out, since that would widen it.
    package init?(json: JSON) {
        guard let endpoint = json["endpoint"]?.stringValue,
            let mode = json["mode"]?.stringValue.flatMap(Mode.init(rawValue:)), let since = json["since_ms"]?.intValue,
            WebhookReplay.instants.contains(since), let types = WebhookReplay.texts(json["types"])
        else { return nil }
        var until: Int64?
        if let end = json["until_ms"], end != .null {
            guard let instant = end.intValue, WebhookReplay.instants.contains(instant) else { return nil }
            until = instant
        }
        var missed: Range<Int64>?
        if json["missed_from_ms"] != nil || json["missed_until_ms"] != nil {
            guard mode == .missing, let from = json["missed_from_ms"]?.intValue,
                let end = json["missed_until_ms"]?.intValue, WebhookReplay.instants.contains(from),
                WebhookReplay.instants.contains(end), from < end
            else { return nil }
            missed = from..<end
        }
        self.init(endpoint: endpoint, mode: mode, since: since, until: until, types: types, missed: missed)
    }

    /// A list that may be missing; nil for one that has anything but texts.
    static func texts(_ json: JSON?) -> [String]? {
        guard let json, json != .null else { return [] }
        let texts = json.arrayValue?.compactMap(\.stringValue)
        return texts?.count == json.arrayValue?.count && texts?.contains("") != true ? texts : nil
    }

    /// Why it cannot be asked for such an endpoint, whatever its state is; nil if it can.
    package func misuse(of endpoint: Endpoint) -> String? {
        guard mode != .failed else { return nil }
        if endpoint.isOperations {
            return "\(endpoint.id) receives notices, which are sent once: only --failed resends them"
        }
        return endpoint.format == .revenuecat
            ? nil : "endpoint \(endpoint.id) receives raw notifications: only --failed resends them"
    }

    /// Why it cannot be done for this endpoint now; nil if it can.
    package func objection(to endpoint: Endpoint) -> String? {
        if let reason = endpoint.disabledReason {
            return "endpoint \(endpoint.id) is disabled (\(reason)): enable it and repeat the command"
        }
        return misuse(of: endpoint)
    }

    /// How a job for it is asked for.
    ///
    /// - Parameters:
    ///   - since: as a person said it, because a time that counts back from now is another one each time.
    ///   - words: more of what makes it another job.
    package func request(
        since: String, until: String?, words: [String] = [], rate: Int?, madeBy: String
    ) -> JobTable.Request {
        let said = [endpoint, mode.rawValue, since, until ?? "now"] + types.sorted() + words
        return JobTable.Request(
            kind: Job.webhooksKind, words: said.joined(separator: " "), parameters: json, rate: rate,
            madeBy: madeBy)
    }
}
