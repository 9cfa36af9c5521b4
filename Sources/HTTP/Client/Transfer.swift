import CCurl
import Glibc

/// One request on its way, and what libcurl's callbacks learn about its response.
///
/// Belongs to the loop's thread.
final class Transfer {
    let number: Int
    let submission: Submission
    let url: OutgoingURL
    let started = ContinuousClock.now
    /// Vetted; nothing else is connected to.
    var addresses: [IPAddress] = []
    var easy: EasyHandle?

    let proxy: ProxyServer?
    private let policy: AddressPolicy
    private let responseLimit: Int
    private let headerLimit: Int
    private var headerBytes = 0
    private(set) var body: [UInt8] = []
    private(set) var truncated = false
    private(set) var headersTooLarge = false
    private(set) var retryAfter: String?
    private(set) var delivery: String?
    private(set) var date: String?
    private(set) var head = ResponseHead()
    /// Of the name; nil where it needed none.
    var lookupTime: Duration?
    /// Set when a callback refused an address.
    private(set) var refusal: String?
    /// Set when this host could not give what a connection needs.
    private(set) var exhaustion: String?

    init(
        _ number: Int, _ submission: Submission, url: OutgoingURL, policy: AddressPolicy,
        configuration: HTTPClientConfiguration
    ) {
        self.number = number
        self.submission = submission
        self.url = url
        self.policy = policy
        responseLimit = max(0, submission.request.responseLimit ?? configuration.responseLimit)
        headerLimit = configuration.headerLimit
        proxy = configuration.proxy
    }

    /// Of the request's timeout.
    var remaining: Duration { submission.request.timeout - (ContinuousClock.now - started) }

    /// Keeps the body's beginning; false when there is more, and the transfer is to be cut.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        let room = responseLimit - body.count
        body.append(contentsOf: bytes.prefix(room))
        truncated = bytes.count > room
        return !truncated
    }

    /// Takes one header line, status lines included; false when there were too many bytes of them.
    func receive(header line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= headerLimit else {
            headersTooLarge = true
            return false
        }
        head.take(line)
        if line.starts(with: "HTTP/".utf8) {
            // A new response begins, after an interim one.
            retryAfter = nil
            delivery = nil
            date = nil
        } else if let value = Transfer.value(of: "retry-after", in: line) {
            // Of several the first counts, as a single one would.
            retryAfter = retryAfter ?? value
        } else if let value = Transfer.value(of: "webhook-delivery", in: line) {
            delivery = value
        } else if let value = Transfer.value(of: "date", in: line) {
            date = value
        }
        return true
    }

    private static func value(of name: String, in line: UnsafeRawBufferPointer) -> String? {
        let name = name.utf8
        guard line.count > name.count, line[name.count] == UInt8(ascii: ":"),
            zip(line, name).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
        else { return nil }
        return SafeText.make(line.dropFirst(name.count + 1), limit: 256)
    }

    /// A socket for an address that was vetted; -1 otherwise, upon which libcurl tries the next one.
    func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 16
        let parsed = IPAddress(
            socketAddress: UnsafeRawPointer(address) + offset, length: Int(address.pointee.addrlen))
        guard let parsed, addresses.contains(parsed) else {
            refusal = "an address that was not vetted was about to be connected to"
            return -1
        }
        if proxy == nil, case .refused(let reason) = policy.verdict(for: url, at: [parsed]) {
            refusal = reason
            return -1
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
        if descriptor < 0, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
            exhaustion = "no socket: error \(errno)"
        }
        return descriptor
    }

    /// Whether the request may be sent on this connection, which may be an older one that is used again.
    func mayUseConnection(to address: String) -> Bool {
        guard let parsed = IPAddress(parsing: address) else {
            refusal = "a connection to no address"
            return false
        }
        // A proxy's own address is the operator's affair.
        if proxy == nil, case .refused(let reason) = policy.verdict(for: url, at: [parsed]) {
            refusal = reason
            return false
        }
        return true
    }
}
