/// The request line and the header fields (RFC 9112 §3, §5) of a request that passed the guard.
package struct HTTPRequestHead: Sendable {
    package let method: String
    /// As it was received, undecoded: `/path?query`.
    package let target: String
    /// Lines `name:value\n`, names in lower case. The guard lets no control character into either.
    private let fields: [UInt8]

    /// For tests of handlers, which need no connection.
    package init(method: String, target: String, headers: [(name: String, value: String)] = []) {
        self.init(
            method: method, target: target,
            fields: headers.reduce(into: []) { fields, header in
                fields += "\(header.name.lowercased()):\(header.value)\n".utf8
            })
    }

    init(method: String, target: String, fields: [UInt8]) {
        self.method = method
        self.target = target
        self.fields = fields
    }

    /// The target up to its `?`, not percent-decoded.
    package var path: String {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }

    /// What follows the `?`, not decoded; nil if there is none.
    package var query: String? {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[target.index(after: $0)...]) }
    }

    /// All header fields in the order they came, repeated ones included; names in lower case.
    package var headers: [(name: String, value: String)] {
        fields.split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.firstIndex(of: UInt8(ascii: ":")).map { colon in
                (
                    name: String(decoding: line[..<colon], as: UTF8.self),
                    value: String(decoding: line[(colon + 1)...], as: UTF8.self)
                )
            }
        }
    }

    /// The value of the first field of this name, in any case; nil if there is none.
    package func header(_ name: String) -> String? {
        let prefix = Array("\(name.lowercased()):".utf8)
        var rest = fields[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            if rest.starts(with: prefix) {
                return String(decoding: rest[(rest.startIndex + prefix.count)..<end], as: UTF8.self)
            }
            rest = rest[(end + 1)...]
        }
        return nil
    }
}

/// A request whose body was received completely.
package struct HTTPRequest: Sendable {
    package let head: HTTPRequestHead
    package let body: [UInt8]
    /// The numeric address of the other end of the connection, without its port.
    package let remoteAddress: String

    package init(head: HTTPRequestHead, body: [UInt8] = [], remoteAddress: String = "127.0.0.1") {
        self.head = head
        self.body = body
        self.remoteAddress = remoteAddress
    }
}
