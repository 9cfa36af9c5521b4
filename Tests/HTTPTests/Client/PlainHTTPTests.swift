import HTTP
import Testing

/// A policy that lets plain HTTP out: for what is signed by itself and carries no secret.
struct PlainHTTPTests {
    private let open = AddressPolicy(allowedNetworks: [], allowsPlainHTTP: true)

    private func verdict(_ policy: AddressPolicy, _ url: String, _ address: String) throws -> AddressPolicy.Verdict {
        policy.verdict(for: try OutgoingURL(parsing: url), at: [try #require(IPAddress(parsing: address))])
    }

    @Test func `plain HTTP reaches public addresses where it is allowed, and nowhere else`() throws {
        #expect(try verdict(open, "http://ocsp.example/", "17.253.1.1") == .allowed)
        let strict = AddressPolicy(allowedNetworks: [])
        #expect(try verdict(strict, "http://ocsp.example/", "17.253.1.1") != .allowed)
    }

    @Test(arguments: ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "::1", "fd00::1", "::ffff:10.0.0.1"])
    func `private addresses stay refused`(address: String) throws {
        #expect(try verdict(open, "http://ocsp.example/", address) != .allowed)
        #expect(try verdict(open, "https://ocsp.example/", address) != .allowed)
    }
}
