import Base
import Daemon
import HTTP

/// A receiver of OTLP over HTTP: judges what comes by the names and forms of opentelemetry-proto's trace.proto in its JSON
/// encoding, keeps the spans, and answers as a test says.
package final class OTLPReceiver: Sendable {
    package struct Received: Sendable, Equatable {
        package let service: String?
        package let trace: String
        package let id: String
        package let parent: String?
        package let name: String
        package let kind: Int64
        package let start: String
        package let end: String
        package let attributes: [String: String]
        package let hasFailed: Bool
    }

    private let consumer: Consumer

    /// - Parameter answering: gets how many requests came before.
    package init(_ answering: @escaping @Sendable (Int) -> Consumer.Answer = { _ in .status(200) }) throws {
        consumer = try Consumer { _, before in answering(before) }
    }

    package var url: String { consumer.url("") }
    package var requests: [Consumer.Request] { consumer.requests }

    package func stop() { consumer.stop() }

    package var spans: [Received] {
        requests.flatMap { request in (try? JSON(parsing: request.body)).map(OTLPReceiver.spans) ?? [] }
    }

    /// What is wrong with what came: nothing, if the protocol was kept.
    package var mistakes: [String] {
        requests.flatMap { request -> [String] in
            var mistakes: [String] = []
            if request.path != "/v1/traces" { mistakes.append("the path is \(request.path)") }
            if request.headers["content-type"] != "application/json" { mistakes.append("the content is no JSON") }
            guard let document = try? JSON(parsing: request.body) else { return mistakes + ["the body is no JSON"] }
            return mistakes + OTLPReceiver.mistakes(in: document)
        }
    }

    // MARK: - Judging

    private static let names: [String: Set<String>] = [
        "request": ["resourceSpans"], "resourceSpans": ["resource", "scopeSpans", "schemaUrl"],
        "resource": ["attributes", "droppedAttributesCount"], "scopeSpans": ["scope", "spans", "schemaUrl"],
        "scope": ["name", "version", "attributes", "droppedAttributesCount"],
        "span": [
            "traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano",
            "endTimeUnixNano", "attributes", "droppedAttributesCount", "events", "droppedEventsCount", "links",
            "droppedLinksCount", "status",
        ],
        "status": ["message", "code"], "attribute": ["key", "value"],
        "value": ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"],
    ]

    package static func mistakes(in document: JSON) -> [String] {
        var mistakes: [String] = []
        func check(_ value: JSON?, as kind: String) {
            guard let members = value?.members else { return mistakes.append("\(kind) is no object") }
            let unknown = Set(members.map(\.name)).subtracting(names[kind] ?? [])
            if !unknown.isEmpty { mistakes.append("\(kind) has \(unknown.sorted())") }
            if Set(members.map(\.name)).count != members.count { mistakes.append("\(kind) has a name twice") }
        }
        func attributes(_ value: JSON?) {
            for attribute in value?["attributes"]?.arrayValue ?? [] {
                check(attribute, as: "attribute")
                check(attribute["value"], as: "value")
                if attribute["key"]?.stringValue?.isEmpty != false { mistakes.append("an attribute has no key") }
                if attribute["value"]?.members?.count != 1 { mistakes.append("an attribute has not one value") }
                // 64-bit numbers are texts.
                if let number = attribute["value"]?["intValue"], number.stringValue.flatMap({ Int64($0) }) == nil {
                    mistakes.append("intValue is \(number.text)")
                }
            }
        }
        func isID(_ value: JSON?, _ digits: Int) -> Bool {
            guard let text = value?.stringValue, text.utf8.count == digits else { return false }
            return text.allSatisfy { "0123456789abcdef".contains($0) } && text.contains { $0 != "0" }
        }
        check(document, as: "request")
        for resourceSpans in document["resourceSpans"]?.arrayValue ?? [] {
            check(resourceSpans, as: "resourceSpans")
            check(resourceSpans["resource"], as: "resource")
            attributes(resourceSpans["resource"])
            for scopeSpans in resourceSpans["scopeSpans"]?.arrayValue ?? [] {
                check(scopeSpans, as: "scopeSpans")
                check(scopeSpans["scope"], as: "scope")
                for span in scopeSpans["spans"]?.arrayValue ?? [] {
                    check(span, as: "span")
                    check(span["status"], as: "status")
                    attributes(span)
                    if !isID(span["traceId"], 32) { mistakes.append("traceId is \(span["traceId"]?.text ?? "")") }
                    if !isID(span["spanId"], 16) { mistakes.append("spanId is \(span["spanId"]?.text ?? "")") }
                    if let parent = span["parentSpanId"], parent != .null, !isID(parent, 16) {
                        mistakes.append("parentSpanId is \(parent.text)")
                    }
                    if !(1...5).contains(span["kind"]?.intValue ?? 0) { mistakes.append("the kind is unknown") }
                    let times = ["startTimeUnixNano", "endTimeUnixNano"].map { name in
                        span[name]?.stringValue.flatMap { UInt64($0) }
                    }
                    guard let start = times[0], let end = times[1], start <= end else {
                        mistakes.append("the times are wrong")
                        continue
                    }
                    if !(0...2).contains(span["status"]?["code"]?.intValue ?? 0) {
                        mistakes.append("the status is unknown")
                    }
                }
            }
        }
        return mistakes
    }

    package static func spans(in document: JSON) -> [Received] {
        func attributes(_ value: JSON?) -> [String: String] {
            let pairs = (value?["attributes"]?.arrayValue ?? []).map { attribute in
                (
                    attribute["key"]?.stringValue ?? "",
                    attribute["value"]?["stringValue"]?.stringValue ?? attribute["value"]?["intValue"]?.stringValue
                        ?? ""
                )
            }
            return Dictionary(pairs) { first, _ in first }
        }
        return (document["resourceSpans"]?.arrayValue ?? []).flatMap { resourceSpans -> [Received] in
            let service = attributes(resourceSpans["resource"])["service.name"]
            let spans = (resourceSpans["scopeSpans"]?.arrayValue ?? []).flatMap { $0["spans"]?.arrayValue ?? [] }
            return spans.map { span in
                Received(
                    service: service, trace: span["traceId"]?.stringValue ?? "",
                    id: span["spanId"]?.stringValue ?? "", parent: span["parentSpanId"]?.stringValue,
                    name: span["name"]?.stringValue ?? "", kind: span["kind"]?.intValue ?? 0,
                    start: span["startTimeUnixNano"]?.stringValue ?? "",
                    end: span["endTimeUnixNano"]?.stringValue ?? "",
                    attributes: attributes(span), hasFailed: span["status"]?["code"]?.intValue == 2)
            }
        }
    }
}
