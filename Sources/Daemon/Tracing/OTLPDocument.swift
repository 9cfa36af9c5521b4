import Base

/// Spans as an `ExportTraceServiceRequest` of OTLP 1.x in its JSON encoding: lowerCamelCase names, ids in hexadecimal
/// digits, 64-bit numbers as text.
package enum OTLPDocument {
    /// - Parameter resource: attributes of the process.
    package static func request(_ spans: [Span], resource: [(String, String)]) -> JSON {
        .object([
            "resourceSpans": .array([
                .object([
                    "resource": .object([
                        "attributes": .array(resource.map { attribute($0.0, .text($0.1)) })
                    ]),
                    "scopeSpans": .array([
                        .object([
                            "scope": .object(["name": .string("entitled"), "version": .string(Version.current)]),
                            "spans": .array(spans.map(span)),
                        ])
                    ]),
                ])
            ])
        ])
    }

    private static func span(_ span: Span) -> JSON {
        .object([
            "traceId": .string(span.trace.text), "spanId": .string(span.id.text),
            "parentSpanId": span.parent.map { .string($0.text) }, "name": .string(span.name),
            "kind": .int(span.kind.rawValue),
            "startTimeUnixNano": .string(String(span.start)), "endTimeUnixNano": .string(String(span.end)),
            "attributes": .array(span.attributes.compactMap { name, value in value.map { attribute(name, $0) } }),
            "status": span.hasFailed ? .object(["code": .int(2)]) : .object([:]),
        ])
    }

    private static func attribute(_ name: String, _ value: Span.Value) -> JSON {
        let written: JSON =
            switch value {
            case .text(let text): .object(["stringValue": .string(text)])
            case .number(let number): .object(["intValue": .string(String(number))])
            }
        return .object(["key": .string(name), "value": written])
    }

    /// How many spans the answer of a receiver says that it did not take (`partialSuccess`).
    package static func rejected(in answer: [UInt8]) -> Int {
        let number = (try? JSON(parsing: answer))?["partialSuccess"]?["rejectedSpans"]
        return Int(clamping: number?.intValue ?? number?.stringValue.flatMap { Int64($0) } ?? 0)
    }
}
