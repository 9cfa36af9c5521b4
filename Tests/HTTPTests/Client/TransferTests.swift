import Base
import Testing

@testable import HTTP

/// The last checks before a connection and before a request, which no server can be made to reach.
struct TransferTests {
    @Test(arguments: [
        ("https://a.test/", "8.8.8.8", true), ("https://a.test/", "10.0.0.1", true),
        ("https://a.test/", "127.0.0.1", false), ("https://a.test/", "::ffff:127.0.0.1", false),
        ("https://a.test/", "", false), ("http://a.test/", "10.0.0.1", true), ("http://a.test/", "8.8.8.8", false),
    ])
    func `a connection is judged by its address whenever it is used`(url: String, address: String, allowed: Bool) throws
    {
        let transfer = try makeTransfer(url)
        #expect(transfer.mayUseConnection(to: address) == allowed)
        #expect((transfer.refusal == nil) == allowed)
    }

    @Test func `the header limit counts all lines together`() throws {
        let transfer = try makeTransfer("https://a.test/")
        let line = [UInt8](repeating: 0x61, count: 1024)
        let taken = (0..<40).prefix { _ in line.withUnsafeBytes { transfer.receive(header: $0) } }.count
        #expect(taken == 32)
        #expect(transfer.headersTooLarge)
    }

    @Test func `the body limit holds however the bytes are cut`() throws {
        let transfer = try makeTransfer("https://a.test/")
        let piece = [UInt8](repeating: 0x61, count: 10_000)
        #expect(piece.withUnsafeBytes { transfer.receive(body: $0) })
        #expect(!piece.withUnsafeBytes { transfer.receive(body: $0) })
        #expect(!piece.withUnsafeBytes { transfer.receive(body: $0) })
        #expect(transfer.body.count == 16 << 10)
        #expect(transfer.truncated)
    }

    @Test(arguments: [
        ("Retry-After: 5\r\n", "5"), ("RETRY-AFTER:5", "5"), ("retry-after:\r\n", ""), ("retry-after", nil),
        ("x-retry-after: 5\r\n", nil), ("retry-after : 5\r\n", nil), ("", nil), ("retry-after: a\u{0}b\r\n", "a?b"),
    ])
    func `retry-after is found in its line only`(line: String, value: String?) throws {
        let transfer = try makeTransfer("https://a.test/")
        _ = Array(line.utf8).withUnsafeBytes { transfer.receive(header: $0) }
        #expect(transfer.retryAfter == value)
    }

    private func makeTransfer(_ url: String) throws -> Transfer {
        let configuration = HTTPClientConfiguration(allowedNetworks: [Network(parsing: "10.0.0.0/8")].compactMap { $0 })
        return Transfer(
            1, Submission(OutgoingRequest(url: url)) { _ in }, url: try OutgoingURL(parsing: url),
            policy: AddressPolicy(allowedNetworks: configuration.allowedNetworks), configuration: configuration)
    }
}
