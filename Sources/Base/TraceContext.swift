/// The id of a trace: 16 bytes, not all of them zero (W3C Trace Context, Level 2).
///
/// The trace of a notification has the bytes of its UUID, the trace of an event that no notification made has those of the
/// event's id. So the id costs nothing to keep, is the same in every process, and leads back to what it is about.
package struct TraceID: Sendable, Hashable {
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }

    package static func random() -> TraceID {
        var generator = SystemRandomNumberGenerator()
        // The last byte is not zero.
        let bytes = (0..<15).map { _ in UInt8.random(in: 0...255, using: &generator) } + [UInt8.random(in: 1...255)]
        return TraceID(bytes) ?? TraceID(known: bytes)
    }

    private init(known bytes: [UInt8]) { self.bytes = bytes }

    /// 32 hexadecimal digits in lower case.
    package var text: String { Hex.encode(bytes) }

    /// The last seven bytes, which are random in traces of others and in UUIDs of version 4 and hashes: by them all
    /// processes decide alike whether a trace is recorded.
    package var randomness: UInt64 { bytes.suffix(7).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The id of a span within its trace: 8 bytes, not all of them zero.
package struct SpanID: Sendable, Hashable {
    package let number: UInt64

    package init?(_ number: UInt64) {
        guard number != 0 else { return nil }
        self.number = number
    }

    private init(known number: UInt64) { self.number = number == 0 ? 1 : number }

    package static func random() -> SpanID { SpanID(known: .random(in: 1 ... .max)) }

    /// One that follows from what the span is about, so that other processes know it without being told: FNV-1a, 64 bits.
    package init(of name: StaticString, _ bytes: [UInt8]) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        name.withUTF8Buffer { $0.forEach(add) }
        add(0)
        bytes.forEach(add)
        self.init(known: hash)
    }

    /// 16 hexadecimal digits in lower case.
    package var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What `traceparent` says: the trace, the span that the request belongs to, and whether that is recorded.
package struct TraceContext: Sendable, Equatable {
    package let trace: TraceID
    package let span: SpanID
    package let isSampled: Bool

    package init(trace: TraceID, span: SpanID, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Nil for what is not valid; then the header counts as missing. A version after 00 may have more behind the flags.
    package init?(traceparent text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, let version = TraceContext.hex(parts[0], 1), version != [0xff],
            parts.count == 4 || version != [0], let trace = TraceContext.hex(parts[1], 16).flatMap({ TraceID($0) }),
            let span = TraceContext.hex(parts[2], 8).flatMap({ SpanID($0.reduce(0) { $0 << 8 | UInt64($1) }) }),
            let flags = TraceContext.hex(parts[3], 1)?.first
        else { return nil }
        self.init(trace: trace, span: span, isSampled: flags & 1 == 1)
    }

    /// Version 00.
    package var traceparent: String { "00-\(trace.text)-\(span.text)-\(isSampled ? "01" : "00")" }

    /// Capitals are not allowed.
    private static func hex(_ text: Substring.UTF8View.SubSequence, _ count: Int) -> [UInt8]? {
        let isLower = text.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard isLower, let bytes = Hex.decode(String(Substring(text))), bytes.count == count else { return nil }
        return bytes
    }
}
