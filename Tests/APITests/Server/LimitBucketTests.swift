import Base
import HTTP
import Testing

@testable import API

/// Limits as numbers: what a bucket gives, how much memory buckets take, and whose address is counted.
struct LimitBucketTests {
    private static let second: Int64 = 1_000_000_000

    /// What a bucket gives of many requests, by a model with fractions: points come back evenly.
    @Test func `a bucket gives what it holds, and again what came back since`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let limit = RequestLimit(points: .random(in: 1...500), period: .seconds(Int64.random(in: 1...120)))
            var buckets = LimitBuckets(limit)
            var (model, now) = (Double(limit.points), Int64.random(in: 0...1_000_000) * Self.second)
            for _ in 0..<200 {
                let pause = Int64.random(in: 0...(Self.second / 2), using: &generator)
                now += pause
                model = min(
                    Double(limit.points),
                    model + Double(pause) / Double(Self.second) / limit.period.seconds * Double(limit.points))
                let cost = Int.random(in: 1...10)
                let effective = Double(min(Int64(cost), limit.points))
                let wait = buckets.missing(cost, of: 7, at: now)
                // Nanoseconds are cut off, so that at the edge both are right.
                guard abs(model - effective) > 0.001 else { return }
                #expect((wait == nil) == (model >= effective))
                if let wait {
                    #expect(buckets.missing(cost, of: 7, at: now + wait) == nil)
                    #expect(wait < 2 || buckets.missing(cost, of: 7, at: now + wait / 2) != nil)
                } else {
                    buckets.take(cost, of: 7, at: now)
                    model -= effective
                }
            }
        }
    }

    @Test func `a million names take no more memory than some thousands, and an offender among them stays known`() {
        var buckets = LimitBuckets(RequestLimit(points: 10, period: .seconds(60)))
        for name in 0..<1_000_000 {
            buckets.take(10, of: UInt64(name) + 1000, at: 0)
            // Who goes on is not forgotten, whatever others do.
            if name % 1000 == 0 { buckets.take(10, of: 1, at: 0) }
        }
        #expect(buckets.count <= 2 * LimitBuckets.generation)
        #expect(buckets.missing(1, of: 1, at: 0) != nil)
    }

    @Test func `a limit is written as points for a time`() {
        for (text, points, period) in [
            ("30000/1m", 30_000, Duration.seconds(60)), ("1/1s", 1, .seconds(1)), ("600/5m", 600, .seconds(300)),
            ("100000000/24h", 100_000_000, .seconds(86_400)),
        ] as [(String, Int64, Duration)] {
            #expect(RequestLimit(text: text) == RequestLimit(points: points, period: period))
            #expect(RequestLimit(text: text)?.text == text)
        }
        #expect(RequestLimit(text: "off")?.isOff == true)
        for text in ["", "0/1m", "-1/1m", "10", "10/", "/1m", "10/1m/1m", "10/0s", "10/25h", "1e3/1m", "100000001/1s"] {
            #expect(RequestLimit(text: text) == nil, "\(text)")
        }
    }

    // MARK: - Addresses

    private static func client(
        _ peer: String, _ forwarded: [String], _ proxies: [String] = TrustedProxies.standard,
        host: String = "api.example.com"
    ) -> String? {
        let head = HTTPRequestHead(
            method: "GET", target: "/",
            headers: [(name: "Host", value: host)] + forwarded.map { (name: "X-Forwarded-For", value: $0) })
        return TrustedProxies(proxies).client(head, peer: peer)?.description
    }

    private static let inside = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "192.168.0.0/16", "fd00::/8"]

    @Test func `an address is the peer's, or the right-most that no trusted proxy has`() {
        // What a client writes itself stands to the left of what the proxy saw.
        #expect(Self.client("127.0.0.1", ["1.1.1.1, 203.0.113.9"]) == "203.0.113.9")
        #expect(Self.client("127.0.0.1", ["1.1.1.1, 203.0.113.9, 10.1.2.3"], Self.inside) == "203.0.113.9")
        #expect(Self.client("127.0.0.1", ["1.1.1.1", "203.0.113.9,10.1.2.3"], Self.inside) == "203.0.113.9")
        #expect(Self.client("203.0.113.1", ["1.1.1.1"]) == "203.0.113.1")
        #expect(Self.client("203.0.113.1", ["1.1.1.1"], Self.inside) == "203.0.113.1")
        #expect(Self.client("203.0.113.1", ["1.1.1.1"], ["203.0.113.0/24"]) == "1.1.1.1")
        #expect(Self.client("127.0.0.1", ["203.0.113.9:4711"]) == "203.0.113.9")
        #expect(Self.client("::ffff:127.0.0.1", ["::ffff:203.0.113.9"]) == "203.0.113.9")
    }

    @Test(arguments: ["127.0.0.1:8081", "[::1]:8081", "10.0.0.1", "localhost", "localhost:8081"])
    func `who asks this host by its address is one client`(host: String) {
        #expect(Self.client("127.0.0.1", [], host: host) == "127.0.0.1")
        #expect(Self.client("10.42.0.1", ["203.0.113.9"], host: host) == "10.42.0.1")
        #expect(Self.client("127.0.0.1", ["203.0.113.9"], host: host) == "203.0.113.9")
    }

    @Test func `where nothing tells clients apart there is no address`() {
        // A proxy that tells nothing, or nothing that can be used.
        #expect(Self.client("127.0.0.1", []) == nil)
        #expect(Self.client("127.0.0.1", [""]) == nil)
        #expect(Self.client("127.0.0.1", ["unknown"]) == nil)
        #expect(Self.client("127.0.0.1", ["203.0.113.9, unknown, 10.0.0.1"], Self.inside) == nil)
        #expect(Self.client("203.0.113.1", [], ["203.0.113.0/24"]) == nil)
        // Whatever stands between here and the clients of the internet, and passes on what they forge.
        for peer in [
            "172.17.0.1", "10.42.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.9", "::ffff:10.0.0.1", "fd00::1",
            "fe80::1",
        ] {
            #expect(Self.client(peer, []) == nil, "\(peer)")
            #expect(Self.client(peer, ["203.0.113.9"]) == nil, "\(peer)")
            #expect(Self.client("127.0.0.1", ["203.0.113.9, \(peer)"]) == nil, "\(peer)")
        }
        #expect(Self.client("127.0.0.1", ["203.0.113.9"], []) == nil)
        #expect(Self.client("127.0.0.1", ["10.0.0.7, 192.168.1.1"], Self.inside) == nil)
        #expect(Self.client("127.0.0.1", [String(repeating: "10.0.0.1,", count: 900) + "10.0.0.2"], Self.inside) == nil)
        #expect(Self.client("", ["203.0.113.9"]) == nil)
    }

    @Test func `of IPv6 the first half counts`() {
        #expect(Self.client("2001:db8:1:2::1", []) == "2001:db8:1:2::/64")
        #expect(Self.client("2001:db8:1:2:ffff::9", []) == "2001:db8:1:2::/64")
        #expect(Self.client("::1", ["[2001:db8:1:3::1]:80"]) == "2001:db8:1:3::/64")
        #expect(Self.client("fd00::1", ["2001:db8:1:4::1"], Self.inside) == "2001:db8:1:4::/64")
    }
}
