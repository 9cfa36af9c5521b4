import Base
import Daemon
import Synchronization
import Testing

@testable import HTTP

/// What is said of URLs before webhooks are sent to them.
struct WebhookAddressTests {
    /// Counts lookups.
    private final class Names: Sendable {
        let asked = Mutex<[String: Int]>([:])

        func addresses(of host: String) -> Resolution {
            asked.withLock { $0[host, default: 0] += 1 }
            return .addresses([host.hasPrefix("inner") ? .v4(0x0a00_0007) : .v4(0x0808_0808)])
        }
    }

    private func address(_ names: Names, tellsAddresses: Bool = false) -> WebhookAddress {
        WebhookAddress(tellsAddresses: tellsAddresses) { Resolver(metrics: Metrics(), lookup: names.addresses(of:)) }
    }

    @Test func `a refusal of a name tells its addresses on the host alone`() {
        let url = "https://inner.example/x"
        let told = address(Names()).judge(url).objection ?? ""
        #expect(told.contains("not public") && !told.contains("10.0.0.7") && !told.contains("10.0.0.0"), "\(told)")
        #expect(address(Names(), tellsAddresses: true).judge(url).objection?.contains("10.0.0.7") == true)
        // One that was typed is known.
        #expect(address(Names()).judge("https://10.0.0.9/x").objection?.contains("10.0.0.9") == true)
        #expect(address(Names()).judge("http://outer.example/x").objection?.contains("8.8.8.8") == false)
        #expect(address(Names()).judge("https://outer.example:25/x").objection?.contains("port 25") == true)
    }

    @Test func `copies share what was looked up`() {
        let names = Names()
        let address = address(names)
        let copy = address
        #expect(address.judge("https://outer.example/a") == .usable("https://outer.example/a", warning: nil))
        #expect(copy.judge("https://outer.example/b") == .usable("https://outer.example/b", warning: nil))
        #expect(names.asked.withLock { $0 } == ["outer.example": 1])
    }

    @Test func `an address needs no name`() {
        let address = WebhookAddress()
        #expect(!address.needsName(of: "https://10.0.0.7/") && !address.needsName(of: "https://[::1]/"))
        #expect(address.needsName(of: "https://example.com/") && !address.needsName(of: "no URL"))
        #expect(!WebhookAddress(isProxied: true).needsName(of: "https://example.com/"))
    }
}
