import AppStoreAPI
import Base
import Database

/// A requested part of Apple's history.
package struct HistoryReplay: Sendable, Equatable {
    package let question: HistoryFilter
    /// Milliseconds, both included.
    package let from: Int64
    package let until: Int64
    /// Whether events are sent however old they are.
    package let sendsEvents: Bool
    /// Whether it is only counted what Apple has.
    package let isDry: Bool
    /// The number of the outage whose time it is; nil: of none.
    package let outage: Int64?

    package init(
        _ question: HistoryFilter, from: Int64, until: Int64, sendsEvents: Bool = false, isDry: Bool = false,
        outage: Int64? = nil
    ) {
        (self.isDry, self.outage) = (isDry, outage)
        self.question = question
        self.from = from
        self.until = until
        self.sendsEvents = sendsEvents
    }

    var source: NotificationSource { sendsEvents ? .historyToSend : .history }
    var walk: HistoryScan { HistoryScan(question, from: from, until: until) }

    package var json: JSON {
        .object(
            [
                JSON.Member(name: "app", value: .string(question.place.app)),
                JSON.Member(name: "environment", value: .string(question.place.environment.rawValue)),
                JSON.Member(name: "from_ms", value: .int(from)), JSON.Member(name: "until_ms", value: .int(until)),
                JSON.Member(name: "types", value: .strings(question.types)),
                JSON.Member(name: "transaction", value: .text(question.transactionID)),
                JSON.Member(name: "only_failures", value: .bool(question.onlyFailures)),
                JSON.Member(name: "send_events", value: .bool(sendsEvents)),
            ] + (isDry ? [JSON.Member(name: "dry_run", value: .bool(true))] : [])
                + (outage.map { [JSON.Member(name: "outage", value: .int($0))] } ?? []))
    }

    /// Apple's types that one replay may name when it is asked for: each is a question of its own.
    package static let mostTypes = 20

    /// Whether a type can be one of Apple's.
    package static func isType(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }

    /// Nil for what is no such thing: nothing that cannot be read is left out, since that would widen it.
    package init?(json: JSON) {
        guard let app = json["app"]?.stringValue,
            let environment = json["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)),
            let from = json["from_ms"]?.intValue, let until = json["until_ms"]?.intValue,
            WebhookReplay.instants.contains(from), WebhookReplay.instants.contains(until), from < until,
            let types = WebhookReplay.texts(json["types"]), types.allSatisfy(HistoryReplay.isType),
            let onlyFailures = HistoryReplay.flag(json["only_failures"]),
            let sendsEvents = HistoryReplay.flag(json["send_events"]), let isDry = HistoryReplay.flag(json["dry_run"])
        else { return nil }
        func isMissing(_ name: String) -> Bool { json[name] == nil || json[name] == .null }
        guard isMissing("transaction") || json["transaction"]?.stringValue != nil,
            isMissing("outage") || json["outage"]?.intValue != nil
        else { return nil }
        self.init(
            HistoryFilter(
                AppScope(app: app, environment: environment), types: types,
                transactionID: json["transaction"]?.stringValue, onlyFailures: onlyFailures),
            from: from, until: until, sendsEvents: sendsEvents, isDry: isDry, outage: json["outage"]?.intValue)
    }

    /// Nothing is false; nil for what is none.
    private static func flag(_ json: JSON?) -> Bool? {
        switch json {
        case nil, .null?, .bool(false)?: false
        case .bool(true)?: true
        default: nil
        }
    }

    /// ms before and after an outage that belong to its time: Apple's clock is another one.
    private static let tolerance: Int64 = 60_000

    /// What Apple may have signed in an outage, in ms since 1970.
    package static func time(of outage: Range<Int64>) -> Range<Int64> {
        outage.lowerBound - tolerance..<outage.upperBound + tolerance
    }

    /// The time of an outage, for one app and environment.
    ///
    /// - Parameters:
    ///   - number: the minute since 1970 in which it began.
    ///   - outage: ms since 1970.
    package static func of(
        _ outage: Range<Int64>, number: Int64, _ place: AppScope, sendsEvents: Bool = false
    ) -> HistoryReplay {
        let time = time(of: outage)
        return HistoryReplay(
            HistoryFilter(place), from: time.lowerBound, until: time.upperBound, sendsEvents: sendsEvents,
            outage: number)
    }

    /// The target of the change that asks for it.
    package var target: String {
        outage.map { String($0) } ?? HistoryReplay.target(of: question.place)
    }

    package static func target(of place: AppScope) -> String { "\(place.app)/\(place.environment.rawValue)" }

    /// How a job for it is asked for.
    ///
    /// - Parameters:
    ///   - from: as a person said it, because a time that counts back from now is another one each time.
    ///   - rate: pages each second.
    package func request(from: String, until: String, rate: Int?, madeBy: String) -> JobTable.Request {
        var said = ["history", question.place.app, question.place.environment.rawValue, from, until]
        said += question.types.sorted()
        if let transactionID = question.transactionID { said.append("transaction=\(transactionID)") }
        if question.onlyFailures { said.append("only-failures") }
        if sendsEvents { said.append("send-events") }
        if let rate { said.append("\(rate)/s") }
        return JobTable.Request(
            kind: Job.historyKind, words: said.joined(separator: " "), parameters: json, rate: rate,
            madeBy: madeBy)
    }
}
