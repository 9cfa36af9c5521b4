import Base
import Database
import HTTP
import Worker

/// Short texts from consumers, operators and configurations. What is read is written, and read again as the same.
package enum TextSubjects {
    package static func all() -> [FuzzSubject] {
        [
            retryAfter, httpDate, timestamp, duration, deliveryID, webhookURL, proxy, responseHead, address, network,
            base64, hex,
        ]
    }

    private static var retryAfter: FuzzSubject {
        let policy = DeliveryRetryPolicy(schedule: [.seconds(3600)])
        let seeds = ["120", "0", "1.5", "-7", "86400", "Sun, 06 Nov 1994 08:49:37 GMT", "1e9", "0x10"]
        return FuzzSubject(text: "retry-after", seeds: seeds) { text in
            for now: Int64 in [0, 784_111_777_000, 253_402_300_799_999] {
                guard let wait = policy.retryAfter(text, now: now) else { continue }
                guard (0...86_400_000).contains(wait) else { return "a wait of \(wait) ms" }
            }
            return nil
        }
    }

    private static var httpDate: FuzzSubject {
        let seeds = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2024 23:59:60 GMT", "Fri, 31 Dec 9999 00:00:00 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
        return FuzzSubject(text: "http-date", seeds: seeds) { text in
            for now: Int64 in [.min, 0, 1_795_269_600_000, .max] {
                guard let date = HTTPDate.parse(text, now: now) else { continue }
                guard abs(date) < 400_000_000_000_000 else { return "a date beyond the year 9999" }
            }
            return nil
        }
    }

    private static var timestamp: FuzzSubject {
        let seeds = ["2026-11-21T01:02:03Z", "2026-11-21T01:02:03.456Z", "2026-11-21", "2026-11-21T01:02:03+02:30"]
        return FuzzSubject(text: "timestamp", seeds: seeds) { text in
            guard let date = Timestamp.parse(text) else { return nil }
            _ = Timestamp.precise(date)
            return Timestamp.text(date).isEmpty ? "a date without a text" : nil
        }
    }

    private static var duration: FuzzSubject {
        FuzzSubject(text: "duration", seeds: ["500ms", "10s", "5m", "24h", "7d", "0s", "1000000000d"], inputs: 8_000) {
            text in
            guard let duration = Duration(text: text) else { return nil }
            return Duration(text: duration.text) == duration ? nil : "read anew, it differs"
        }
    }

    private static var deliveryID: FuzzSubject {
        let seeds = ["dlv_00" + String(repeating: "0", count: 32), "dlv_ff0123456789abcdefABCDEF0123456789"]
        return FuzzSubject(text: "delivery-id", seeds: seeds) { text in
            guard let id = DeliveryID(text: text) else { return nil }
            return id.bytes.count == 16 && (0..<256).contains(id.lane.number) && DeliveryID(text: id.text) == id
                && id.text == text.lowercased() ? nil : "read anew, it differs"
        }
    }

    private static var webhookURL: FuzzSubject {
        let seeds = [
            "https://example.com/hook?a=b", "http://127.1:8080/", "https://[::1]:443/x", "HTTPS://EXAMPLE.com./%7Euser",
            "https://xn--bcher-kva.example/", "http://0x7f000001/", "https://user:secret@example.com/#x",
        ]
        return FuzzSubject(text: "webhook-url", seeds: seeds, inputs: 24_000) { text in
            guard let url = try? OutgoingURL(parsing: text) else { return nil }
            guard let again = try? OutgoingURL(parsing: url.text), again == url else { return "read anew, it differs" }
            _ = (url.literalAddress, url.origin)
            return url.host.isEmpty || url.port == 0 ? "no host or no port" : nil
        }
    }

    private static var proxy: FuzzSubject {
        let seeds = [
            "http://proxy:3128", "https://user:p%40ss@proxy.example:443/", "socks5h://[::1]:1080", "HTTP://0x7f.1:80",
        ]
        return FuzzSubject(text: "proxy-url", seeds: seeds) { text in
            guard let proxy = ProxyServer(parsing: text) else { return nil }
            guard let again = ProxyServer(parsing: proxy.origin) else { return "its origin is no proxy" }
            return again.origin == proxy.origin && proxy.port > 0 ? nil : "read anew, it differs"
        }
    }

    /// Lines as they come from a connection.
    private static var responseHead: FuzzSubject {
        let seeds = [
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            "HTTP/1.1 503 Busy\nSet-Cookie: a=b\n c=d\nX: \u{0}y\n",
            "HTTP/1.1 103 Early\r\n\r\nHTTP/2 200\r\nx-token: 1\r\n",
            ": none\r\nx-long: \(String(repeating: "v", count: 5000))",
        ]
        return FuzzSubject("response-head", seeds: seeds.map { Array($0.utf8) }, inputs: 12_000) { input in
            var head = ResponseHead()
            for line in input.split(separator: 0x0a, omittingEmptySubsequences: false) {
                (Array(line) + [0x0a]).withUnsafeBytes { head.take($0) }
            }
            let text = head.text
            _ = (head.value(of: "x"), head.value(of: ""), head.isEmpty)
            guard text.utf8.count <= ResponseHead.limit else { return "longer than the limit" }
            guard text.utf8.allSatisfy({ (0x20...0x7e).contains($0) || $0 == 0x0a }) else { return "not printable" }
            let cookie = text.split(separator: "\n").first { $0.lowercased().hasPrefix("set-cookie:") }
            return cookie.map { $0.hasSuffix(": [left out]") } ?? true ? nil : "a cookie is shown"
        }
    }

    private static var address: FuzzSubject {
        let seeds = ["127.0.0.1", "255.255.255.255", "::1", "::ffff:10.0.0.1", "64:ff9b::1.2.3.4", "fe80::1:2:3:4"]
        return FuzzSubject(text: "address", seeds: seeds) { text in
            guard let address = IPAddress(parsing: text) else { return nil }
            _ = (address.unmapped.description, address.translated)
            return IPAddress(parsing: address.description) == address ? nil : "read anew, it differs"
        }
    }

    private static var network: FuzzSubject {
        let seeds = ["10.0.0.0/8", "::/0", "0.0.0.0/0", "::ffff:10.0.0.0/104", "fe80::/10", "192.0.2.1", "::1/128"]
        return FuzzSubject(text: "network", seeds: seeds) { text in
            guard let network = Network(parsing: text) else { return nil }
            _ = network.contains(.v4(0x7f00_0001))
            _ = network.contains(.v6(high: 0, low: 1))
            return Network(parsing: network.description) == network ? nil : "read anew, it differs"
        }
    }

    private static var base64: FuzzSubject {
        FuzzSubject(
            "base64", seeds: ["", "AA", "AAE", "AAEC", "AA==", "-_-_", "+/+/"].map { Array($0.utf8) }, inputs: 8000
        ) { input in
            let text = String(decoding: input, as: UTF8.self)
            if let bytes = Base64.decodeURL(input), Base64.encodeURL(bytes) != text {
                return "two spellings in base64url"
            }
            if let bytes = Base64.decode(input), Base64.encode(bytes) != text { return "two spellings in base64" }
            return nil
        }
    }

    private static var hex: FuzzSubject {
        FuzzSubject(text: "hex", seeds: ["", "00ff", "DEADbeef"], inputs: 6_000) { text in
            guard let bytes = Hex.decode(text) else { return nil }
            return Hex.encode(bytes) == text.lowercased() ? nil : "read anew, it differs"
        }
    }
}
