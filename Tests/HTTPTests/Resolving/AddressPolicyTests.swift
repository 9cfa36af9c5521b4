import Base
import HTTP
import Testing

struct AddressPolicyTests {
    private let strict = AddressPolicy(allowedNetworks: [])

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
        "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "198.51.99.255", "203.0.112.255", "203.0.114.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
        "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "3ffe::1", "3fff:1000::1",
        "64:ff9b::808:808", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8",
    ])
    func `a public address is allowed`(text: String) throws {
        #expect(strict.verdict(for: try address(text)) == .allowed)
    }

    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255",
        "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1", "::7f00:1",
        "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "::8.8.8.8",
        "64:ff9b::7f00:1", "64:ff9b::10.1.2.3", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "64:ff9b::1:0:0", "100::1",
        "2001::1", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "3fff:fff::1",
        "1fff:ffff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::5efe:7f00:1", "febf::1",
        "fec0::1", "ff02::1",
    ])
    func `an address that is not public is refused`(text: String) throws {
        #expect(!isAllowed(strict, try address(text)))
    }

    @Test func `a refusal says which address and why`() throws {
        let mapped = strict.verdict(for: try address("::ffff:10.0.0.1"))
        #expect(mapped == .refused("::ffff:10.0.0.1 (that is 10.0.0.1) is not public: private (10.0.0.0/8)"))
    }

    @Test func `mapped and translated spellings have the verdict of the address they mean`() throws {
        var random = SplitMix(state: 1)
        let policies = [strict, AddressPolicy(allowedNetworks: [try network("10.0.0.0/8"), try network("::/1")])]
        for policy in policies {
            for _ in 0..<20_000 {
                let bits = UInt32(truncatingIfNeeded: random.next())
                let allowed = isAllowed(policy, .v4(bits))
                #expect(allowed == isAllowed(policy, .v6(high: 0, low: 0xffff_0000_0000 | UInt64(bits))))
                let translated = IPAddress.v6(high: 0x0064_ff9b_0000_0000, low: UInt64(bits))
                // The second policy names the spelling itself.
                #expect(isAllowed(policies[0], .v4(bits)) == isAllowed(policies[0], translated))
            }
        }
    }

    @Test func `nothing in the lowest eighth of IPv6 is public but spellings of public IPv4`() {
        var random = SplitMix(state: 2)
        for round in 0..<100_000 {
            // Mostly sparse bits, since the special blocks are near zero.
            let high = round % 2 == 0 ? random.next() >> 8 : random.next() & random.next() & random.next() >> 8
            let low = round % 3 == 0 ? random.next() & 0xffff_ffff : random.next()
            let address = IPAddress.v6(high: high, low: low)
            guard address.unmapped == address, address.translated == nil else { continue }
            #expect(!isAllowed(strict, address), "\(address)")
        }
    }

    @Test(arguments: [
        ("127.0.0.0/8", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("127.0.0.0/8", "::ffff:127.0.0.1"),
        ("127.0.0.0/8", "64:ff9b::7f00:1"), ("::1/128", "::1"), ("fd00::/8", "fd12::1"), ("0.0.0.0/0", "10.9.8.7"),
        ("::ffff:10.0.0.0/104", "10.9.8.7"), ("64:ff9b::/96", "64:ff9b::a00:1"),
    ])
    func `an operator's network is allowed in every spelling`(range: String, text: String) throws {
        let policy = AddressPolicy(allowedNetworks: [try network(range)])
        #expect(policy.verdict(for: try address(text)) == .allowed)
        #expect(policy.explicitlyAllows(try address(text)))
    }

    @Test(arguments: [
        ("127.0.0.0/8", "128.0.0.1"), ("127.0.0.0/8", "10.0.0.1"), ("10.1.0.0/16", "10.2.0.0"),
        ("::1/128", "127.0.0.1"),
        ("::1/128", "::2"), ("10.0.0.0/8", "::a00:1"), ("::/0", "10.0.0.1"), ("fd00::/65", "fd00::8000:0:0:0"),
    ])
    func `an operator's network allows nothing beside it`(range: String, text: String) throws {
        let policy = AddressPolicy(allowedNetworks: [try network(range)])
        #expect(!policy.explicitlyAllows(try address(text)))
    }

    @Test func `nothing outside the global unicast block is public but what means public IPv4`() {
        var random = SplitMix(state: 3)
        for _ in 0..<100_000 {
            let address = IPAddress.v6(high: random.next(), low: random.next())
            guard case .v6(let high, _) = address, high >> 61 != 1, address.translated == nil else { continue }
            #expect(!isAllowed(strict, address), "\(address)")
        }
    }

    @Test func `an allowed network opens exactly its own addresses`() throws {
        var random = SplitMix(state: 4)
        for prefix in [8, 12, 20, 29, 32] {
            for _ in 0..<400 {
                let mask = UInt32.max << UInt32(32 - prefix)
                let base = UInt32(truncatingIfNeeded: random.next()) & mask
                let policy = AddressPolicy(allowedNetworks: [try network("\(IPAddress.v4(base))/\(prefix)")])
                for bits in [
                    base, base | ~mask, base &- 1, (base | ~mask) &+ 1, UInt32(truncatingIfNeeded: random.next()),
                ] {
                    let isInside = bits & mask == base
                    #expect(policy.explicitlyAllows(.v4(bits)) == isInside)
                    #expect(isAllowed(policy, .v4(bits)) == (isInside || isAllowed(strict, .v4(bits))))
                }
            }
        }
    }

    @Test func `ports of other services are refused outside of allowed networks`() throws {
        let policy = AddressPolicy(allowedNetworks: [try network("10.0.0.0/8")])
        for port in [22, 25, 53, 465, 587, 3306, 5432, 6379, 9200, 11211, 27017] {
            let url = try OutgoingURL(parsing: "https://example.com:\(port)/")
            #expect(policy.verdict(for: url, at: [try address("8.8.8.8")]) != .allowed)
            #expect(policy.verdict(for: url, at: [try address("10.0.0.1")]) == .allowed)
            #expect(policy.verdictBehindProxy(for: url) != .allowed)
        }
        for port in [80, 443, 3000, 8000, 8080, 8443, 9000] {
            let url = try OutgoingURL(parsing: "https://example.com:\(port)/")
            #expect(policy.verdict(for: url, at: [try address("8.8.8.8")]) == .allowed)
        }
    }

    @Test func `one private address refuses a name`() throws {
        let url = try OutgoingURL(parsing: "https://example.com/")
        let good = try address("8.8.8.8")
        #expect(strict.verdict(for: url, at: [good]) == .allowed)
        #expect(strict.verdict(for: url, at: [good, try address("::1")]) != .allowed)
        #expect(strict.verdict(for: url, at: []) != .allowed)
    }

    @Test func `plain http goes only into networks that the operator named`() throws {
        let url = try OutgoingURL(parsing: "http://example.com/")
        let policy = AddressPolicy(allowedNetworks: [try network("10.0.0.0/8")])
        #expect(policy.verdict(for: url, at: [try address("10.1.2.3")]) == .allowed)
        #expect(policy.verdict(for: url, at: [try address("8.8.8.8")]) != .allowed)
        #expect(policy.verdict(for: url, at: [try address("10.1.2.3"), try address("8.8.8.8")]) != .allowed)
        #expect(policy.verdict(for: url, at: [try address("192.168.0.1")]) != .allowed)
    }

    @Test(arguments: [
        "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.1/8", "10/8",
        "::1/129", "::1/64", "::ffff:10.0.0.1/104", "localhost/8", "10.0.0.0/ 8", "10.0.0.0/99999999999999999999",
        "10.0.0.0/٨", "[::1]/128", "fe80::1%eth0/64",
    ])
    func `what is no range is not parsed`(text: String) {
        #expect(Network(parsing: text) == nil)
    }

    @Test(arguments: [
        ("1.2.3.4", "1.2.3.4"), ("::", "::"), ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8::A", "2001:db8::a"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
    ])
    func `an address is written in its shortest form`(text: String, expected: String) throws {
        #expect(try address(text).description == expected)
    }

    @Test(arguments: ["", "1", "127.1", "0x7f.0.0.1", "1.2.3.4 ", "[::1]", "::1%lo", "1.2.3.256", "localhost", "::g"])
    func `loose spellings are no addresses`(text: String) {
        #expect(IPAddress(parsing: text) == nil)
    }

    private func isAllowed(_ policy: AddressPolicy, _ address: IPAddress) -> Bool {
        policy.verdict(for: address) == .allowed
    }

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(parsing: text)) }
    private func network(_ text: String) throws -> Network { try #require(Network(parsing: text)) }
}

/// Random bits that are the same on every run (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
