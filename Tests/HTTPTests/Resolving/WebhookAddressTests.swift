import Base
import Daemon
import Synchronization
import Testing

@testable import HTTP

/// What is said of URLs before webhooks are sent to them.
struct WebhookAddressTests {
    /// Answers by the name, and counts lookups.
    private final class Names: Sendable {
        let asked = Mutex<[String: Int]>([:])

        func addresses(of host: String) -> Resolution {
            asked.withLock { $0[host, default: 0] += 1 }
            switch host {
            case "inner.example": return .addresses([.v4(0x0a00_0007)])
            case "outer.example": return .addresses([.v4(0x0808_0808)])
            case "slow.example": return .temporarily
            default: return .notFound
            }
        }
    }

    private static let hosts = ["inner.example", "outer.example", "slow.example", "absent.example", "localhos"]
    private static let allowed = Network(parsing: "10.0.0.0/8").map { [$0] } ?? []

    private func onHost(_ names: Names, allowed: [Network] = []) -> LookedUpAddress {
        LookedUpAddress(allowed: allowed) { Resolver(metrics: Metrics(), lookup: names.addresses(of:)) }
    }

    /// Otherwise an operator elsewhere would learn which names the network behind the daemon has.
    @Test(arguments: ["https://HOST/x", "http://HOST/x", "https://HOST:25/x", "http://HOST:25/x"])
    func `elsewhere the same is said of every name, whether or not it exists, and wherever it leads`(url: String) {
        for address in [
            WebhookAddress(), WebhookAddress(allowed: Self.allowed), WebhookAddress(isProxied: true),
            WebhookAddress(allowed: Self.allowed, isProxied: true),
        ] {
            let said = Set(
                Self.hosts.map { host in
                    let url = url.replacing("HOST", with: host)
                    guard case .usable(url, nil) = address.judge(url) else {
                        return (address.judge(url).sentence ?? "a warning").replacing(host, with: "HOST")
                    }
                    return "usable"
                })
            #expect(said.count == 1, "\(said)")
        }
    }

    @Test func `what a URL says by itself is judged without its addresses`() {
        func said(_ url: String, allowed: [Network] = []) -> String {
            WebhookAddress(allowed: allowed).judge(url).objection ?? "usable"
        }
        #expect(said("https://any.example/x") == "usable")
        #expect(said("https://any.example:25/x").contains("port 25"))
        #expect(said("http://any.example/x").contains("use https"))
        // Where networks are allowed, the name may lead into one of them.
        for url in ["http://any.example/x", "https://any.example:25/x", "https://10.0.0.9:25/x"] {
            #expect(said(url, allowed: Self.allowed) == "usable", "\(url)")
        }
        #expect(said("https://10.0.0.9/x").contains("10.0.0.9 is not public"))
        for host in ["localhost", "a.localhost", "LOCALHOST", "x.y.localhost"] {
            #expect(said("https://\(host)/x", allowed: Self.allowed).contains("not public"), "\(host)")
        }
    }

    @Test func `on the host the addresses of a name are looked up, and told`() {
        let names = Names()
        #expect(onHost(names).judge("https://outer.example/a") == .usable("https://outer.example/a", warning: nil))
        #expect(onHost(names).judge("https://inner.example/x").objection?.contains("10.0.0.7") == true)
        #expect(onHost(names, allowed: Self.allowed).judge("http://inner.example/x").objection == nil)
        #expect(onHost(names).judge("http://outer.example/x").objection?.contains("8.8.8.8") == true)
        #expect(onHost(names).judge("http://absent.example/x").objection?.contains("does not exist") == true)
        guard case .usable(_, let warning?) = onHost(names).judge("https://absent.example/x") else {
            Issue.record("a name may exist tomorrow")
            return
        }
        #expect(warning.hasPrefix("absent.example does not exist"))
        #expect(names.asked.withLock { $0["outer.example"] } == 2)
    }
}
