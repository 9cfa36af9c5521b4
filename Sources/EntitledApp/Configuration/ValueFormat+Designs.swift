import Base
import CLI
import Daemon
import Subscriptions

extension ValueFormat where Value == JSON {
    /// The form of a document in a configuration, as JSON Schema.
    static var documentSchema: JSON { .object(["type": .strings(["object", "string", "null"])]) }

    /// A JSON document that apps read: an object of the configuration, or the path of a file that has it.
    ///
    /// - Parameter shape: what the reader of the document insists on.
    static func design(_ shape: DocumentShape) -> ValueFormat<JSON> {
        let allowed = "a JSON object, or the path of a JSON file"
        return ValueFormat(allowed: allowed, schema: documentSchema, fromText: designFromText, write: { $0 }) {
            json, surroundings in
            if json.members != nil { return judge(json, shape, file: nil) }
            guard let text = json.stringValue, !text.isEmpty, !text.utf8.contains(0) else {
                return .wrong(json, allowed)
            }
            let path = surroundings.resolve(text)
            let reading = surroundings.readFile(path)
            guard case .contents(let bytes) = reading else {
                return .wrong(json, allowed, reason: reading.failure)
            }
            guard let document = try? JSON(parsing: bytes, json5: true) else {
                return .wrong(json, allowed, reason: fault(in: bytes))
            }
            return judge(document, shape, file: path)
        }
    }

    private static func judge(_ document: JSON, _ shape: DocumentShape, file: String?) -> ValueReading<JSON> {
        let flaws = shape.flaws(in: document)
        guard !flaws.isEmpty else { return .value(document) }
        return .flawed(
            flaws.prefix(mostFlaws).map { flaw in
                .init(
                    place: Terminal.harmless(flaw.place), found: flaw.found,
                    reason: file.map { "in \(Terminal.harmless($0))" }, allowed: flaw.allowed)
            })
    }

    /// Enough to see what is wrong with a document that is another one altogether.
    private static let mostFlaws = 10

    private static func fault(in bytes: [UInt8]) -> String {
        guard case .failure(let fault) = JSON5Diagnostics.find(in: String(decoding: bytes, as: UTF8.self)) else {
            return "not JSON"
        }
        return "not JSON: line \(fault.line), column \(fault.column): \(fault.message)"
    }
}

/// JSON in an environment variable, or a path.
private let designFromText: @Sendable (String) -> JSON = { text in
    text.hasPrefix("{") ? jsonFromText(text) : .string(text)
}
