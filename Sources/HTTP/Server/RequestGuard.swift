import CMicrohttpd
import Glibc

/// Reads a request's head as libmicrohttpd left it in memory, and refuses what two parsers could read differently.
///
/// libmicrohttpd 0.9 is lenient (whitespace before a colon, folded lines, NUL, bare line feeds, repeated lengths, …)
/// and parses in place: it overwrites separators with NUL, and gives out pointers into the bytes it received. That the
/// pieces lie exactly one separator apart, from the method to the empty line, proves that nothing else was in between.
/// 1.0 has a strict parser, and may place the pieces elsewhere; there only the meaning is checked.
struct RequestGuard {
    /// How the length of the body is known (RFC 9112 §6).
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
    }

    struct Rejection: Error, Equatable {
        let status: Int
        let message: String

        init(_ message: String, status: Int = 400) {
            self.status = status
            self.message = message
        }
    }

    /// The target as it came, before libmicrohttpd decoded it in place.
    struct Target {
        let text: String
        let byteCount: Int
        let isClean: Bool

        init(_ bytes: UnsafeBufferPointer<UInt8>) {
            text = String(decoding: bytes, as: UTF8.self)
            byteCount = bytes.count
            // Visible ASCII in origin form (RFC 9112 §3.2.1), or `*`: an absolute form would name a second host.
            isClean =
                bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
                && (bytes.first == UInt8(ascii: "/") || text == "*")
        }
    }

    private static let checksLayout = String(cString: MHD_get_version()).hasPrefix("0.")

    private let base: UnsafePointer<UInt8>
    private let size: Int
    /// Where the next piece must begin, if the layout is checked.
    private var cursor = 0
    private var fields: [UInt8] = []
    private var problem: Rejection?
    private var hosts = 0
    private var lengths = 0
    private var codings = 0
    private var framing = Framing.none

    /// The head of the request whose header fields were just completed on this connection, and its framing.
    static func read(
        _ connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>, target: Target
    ) throws(Rejection) -> (HTTPRequestHead, Framing) {
        var guarding = RequestGuard(method, size: entitled_mhd_head_size(connection))
        let name = try guarding.requestLine(version, target)
        let isOld = version[7] == CChar(bitPattern: UInt8(ascii: "0"))
        guarding.fields.reserveCapacity(guarding.size)
        withUnsafeMutablePointer(to: &guarding) { context in
            _ = MHD_get_connection_values_n(connection, .HEADER_KIND, RequestGuard.eachField, context)
        }
        if let problem = guarding.problem { throw problem }
        try guarding.end(isOld: isOld)
        return (HTTPRequestHead(method: name, target: target.text, fields: guarding.fields), guarding.framing)
    }

    private init(_ method: UnsafePointer<CChar>, size: Int) {
        base = UnsafeRawPointer(method).assumingMemoryBound(to: UInt8.self)
        self.size = size
    }

    private mutating func requestLine(
        _ version: UnsafePointer<CChar>, _ target: Target
    ) throws(Rejection) -> String {
        var length = 0
        while base[length] != 0 { length += 1 }
        let method = UnsafeBufferPointer(start: base, count: length)
        guard HeaderSyntax.isToken(method) else { throw Rejection("The method is malformed.") }
        guard target.isClean else { throw Rejection("The target is malformed.") }
        let place = UnsafeRawPointer(version) - UnsafeRawPointer(base)
        guard strlen(version) == 8, memcmp(version, "HTTP/1.", 7) == 0 else {
            throw Rejection("The version is malformed.")
        }
        guard version[7] == CChar(bitPattern: UInt8(ascii: "1")) || version[7] == CChar(bitPattern: UInt8(ascii: "0"))
        else { throw Rejection("This version of HTTP is not supported.", status: 505) }
        if RequestGuard.checksLayout {
            guard place == length + 1 + target.byteCount + 1 else { throw Rejection("The request line is malformed.") }
            cursor = place + 8
            try lineEnd()
        }
        return String(decoding: method, as: UTF8.self)
    }

    /// The two bytes of a line's end, which libmicrohttpd replaced by NUL; a bare line feed leaves only one.
    private mutating func lineEnd() throws(Rejection) {
        guard cursor + 2 <= size, base[cursor] == 0, base[cursor + 1] == 0 else {
            throw Rejection("A line of the request head does not end with CR LF.")
        }
        cursor += 2
    }

    private static let eachField: MHD_KeyValueIteratorN = { context, _, name, nameSize, value, valueSize in
        guard let context, let name else { return .NO }
        let guarding = context.assumingMemoryBound(to: RequestGuard.self)
        let nameBytes = UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self)
        let valueBytes = value.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) }
        do throws(Rejection) {
            try guarding.pointee.field(
                UnsafeBufferPointer(start: nameBytes, count: nameSize),
                UnsafeBufferPointer(start: valueBytes, count: valueBytes == nil ? 0 : valueSize))
            return .YES
        } catch {
            guarding.pointee.problem = error
            return .NO
        }
    }

    private mutating func field(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) throws(Rejection) {
        if RequestGuard.checksLayout {
            try place(name, value)
        }
        guard HeaderSyntax.isToken(name) else { throw Rejection("The name of a header field is malformed.") }
        guard HeaderSyntax.isValue(value) else { throw Rejection("A header field has a control character.") }
        let start = fields.count
        for byte in name {
            fields.append(HeaderSyntax.lowercased(byte))
        }
        // By length first: most fields are none of these.
        switch name.count {
        case 4 where fields[start...].elementsEqual("host".utf8):
            hosts += 1
            guard HeaderSyntax.isHost(value) else { throw Rejection("The Host is malformed.") }
        case 14 where fields[start...].elementsEqual("content-length".utf8):
            try length(value)
        case 17 where fields[start...].elementsEqual("transfer-encoding".utf8):
            try coding(value)
        default: break
        }
        fields.append(UInt8(ascii: ":"))
        fields.append(contentsOf: HeaderSyntax.trimmed(value))
        fields.append(UInt8(ascii: "\n"))
    }

    /// Name, colon, spaces, value and line end must follow on what was before, without a gap.
    private mutating func place(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) throws(Rejection) {
        guard let start = name.baseAddress, let content = value.baseAddress, start == base + cursor else {
            throw Rejection("A header field is malformed.")
        }
        let valueStart = content - base
        var at = cursor + name.count + 1
        guard valueStart >= at, valueStart <= size, value.count <= size - valueStart else {
            throw Rejection("A header field is malformed.")
        }
        while at < valueStart {
            guard base[at] == UInt8(ascii: " ") || base[at] == UInt8(ascii: "\t") else {
                throw Rejection("A header field is malformed.")
            }
            at += 1
        }
        cursor = valueStart + value.count
        try lineEnd()
    }

    private mutating func length(_ value: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        lengths += 1
        var total = 0
        for byte in value {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else {
                throw Rejection("The Content-Length is malformed.")
            }
            let (product, overflows) = total.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !overflows, !carries else { throw Rejection("The Content-Length is too large.", status: 413) }
            total = sum
        }
        guard !value.isEmpty else { throw Rejection("The Content-Length is malformed.") }
        framing = .length(total)
    }

    private mutating func coding(_ value: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        codings += 1
        guard value.count == 7, value.lazy.map(HeaderSyntax.lowercased).elementsEqual("chunked".utf8) else {
            throw Rejection("The only Transfer-Encoding is chunked.", status: 400)
        }
        framing = .chunked
    }

    private mutating func end(isOld: Bool) throws(Rejection) {
        if RequestGuard.checksLayout {
            try lineEnd()
            guard cursor == size else { throw Rejection("The request head is malformed.") }
        }
        guard lengths <= 1, codings <= 1, lengths + codings <= 1 else {
            throw Rejection("The length of the body is given more than once.")
        }
        guard codings == 0 || !isOld else { throw Rejection("HTTP/1.0 has no chunks.") }
        guard hosts == 1 || (hosts == 0 && isOld) else { throw Rejection("There must be exactly one Host.") }
    }
}
