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

    package init(_ question: HistoryFilter, from: Int64, until: Int64, sendsEvents: Bool = false) {
        self.question = question
        self.from = from
        self.until = until
        self.sendsEvents = sendsEvents
    }

    var source: NotificationSource { sendsEvents ? .historyToSend : .history }
    var walk: HistoryScan { HistoryScan(question, from: from, until: until) }

    package var json: JSON {
        .object([
            "app": .string(question.place.app), "environment": .string(question.place.environment.rawValue),
            "from_ms": .int(from), "until_ms": .int(until), "types": .strings(question.types),
            "transaction": .text(question.transactionID), "only_failures": .bool(question.onlyFailures),
            "send_events": .bool(sendsEvents),
        ])
    }

    /// Nil for what is no such thing.
    package init?(json: JSON) {
        guard let app = json["app"]?.stringValue,
            let environment = json["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)),
            let from = json["from_ms"]?.intValue, let until = json["until_ms"]?.intValue
        else { return nil }
        self.init(
            HistoryFilter(
                AppScope(app: app, environment: environment),
                types: json["types"]?.arrayValue?.compactMap(\.stringValue) ?? [],
                transactionID: json["transaction"]?.stringValue, onlyFailures: json["only_failures"] == .bool(true)),
            from: from, until: until, sendsEvents: json["send_events"] == .bool(true))
    }

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
            kind: HistoryReplayWork.name, words: said.joined(separator: " "), parameters: json, rate: rate,
            madeBy: madeBy)
    }
}
