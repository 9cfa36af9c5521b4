import Base

/// The fields of a form as a browser sends them (URL Standard, 5: `application/x-www-form-urlencoded`), or of a query.
///
/// A name that comes twice is refused: two readers could take different values of it.
package struct Form: Sendable, Equatable {
    /// Bytes of a body, and fields in it, at most.
    package static let limits = (bytes: 64 << 10, fields: 200)
    package static let type = "application/x-www-form-urlencoded"

    /// Why a text holds no form. `description` ends in no full stop.
    package enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
        case otherType
        case tooLarge
        case tooManyFields
        case malformed
        case duplicate(String)

        package var description: String {
            switch self {
            case .otherType: "the body is not of the type \(Form.type)"
            case .tooLarge: "the form has more than \(Form.limits.bytes) bytes"
            case .tooManyFields: "the form has more than \(Form.limits.fields) fields"
            case .malformed: "the form is not percent-encoded UTF-8, or it has a NUL"
            case .duplicate(let name): "the field \(name) comes twice"
            }
        }

        /// The status of the answer.
        package var status: Int {
            switch self {
            case .otherType: 415
            case .tooLarge: 413
            default: 400
            }
        }
    }

    private let fields: [String: String]

    /// A form with these fields, for tests of what reads one.
    package init(_ fields: [String: String]) {
        self.fields = fields
    }

    package var names: Set<String> { Set(fields.keys) }

    package subscript(_ name: String) -> String? { fields[name] }

    package init(query text: String) throws(Fault) {
        try self.init(encoded: Array(text.utf8))
    }

    /// The body of a request, of the type that forms have.
    package init(_ request: HTTPRequest) throws(Fault) {
        let type = request.head.header("content-type")?.prefix { $0 != ";" }.lowercased()
        guard let type, type.trimmingSpaces == Form.type else { throw .otherType }
        try self.init(encoded: request.body)
    }

    package init(encoded bytes: [UInt8]) throws(Fault) {
        guard bytes.count <= Form.limits.bytes else { throw .tooLarge }
        var fields: [String: String] = [:]
        var count = 0
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            count += 1
            guard count <= Form.limits.fields else { throw .tooManyFields }
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = Form.decoded(pair[..<end]), let value = Form.decoded(pair[end...].dropFirst()) else {
                throw .malformed
            }
            guard fields.updateValue(value, forKey: name) == nil else { throw .duplicate(name) }
        }
        self.fields = fields
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        guard let text = String(validating: spaced, as: UTF8.self), let decoded = PercentEncoding.decode(text),
            !decoded.utf8.contains(0)
        else { return nil }
        return decoded
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
