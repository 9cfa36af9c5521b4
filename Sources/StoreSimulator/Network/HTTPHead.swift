/// The start line and the fields of an HTTP/1.1 message (RFC 9112 §2); names in lower case.
struct HTTPHead {
    let startLine: [String]
    private let fields: [(name: String, value: String)]

    /// Nil when there is no start line of three parts, or a field has no name.
    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
        guard let first = lines.first else { return nil }
        startLine = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        var fields: [(String, String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
            var value = line[line.index(after: colon)...]
            while let blank = value.first, blank == " " || blank == "\t" { value.removeFirst() }
            while let blank = value.last, blank == " " || blank == "\t" { value.removeLast() }
            fields.append((line[..<colon].lowercased(), String(value)))
        }
        guard startLine.count >= 2 else { return nil }
        self.fields = fields
    }

    /// The first field of this name.
    subscript(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Nil when it is missing or no number.
    var contentLength: Int? {
        self["content-length"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    var closes: Bool {
        self["connection"]?.lowercased() == "close" || startLine.contains("HTTP/1.0")
    }
}
