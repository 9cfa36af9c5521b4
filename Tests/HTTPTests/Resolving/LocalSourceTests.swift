import Daemon
import Glibc
import Testing

@testable import HTTP

/// Hosts that do not speak every version of IP.
struct LocalSourceTests {
    @Test func `used up ports are our fault, an IP version that this host does not speak is not`() {
        #expect(Transfer.unconnected(Int(EADDRNOTAVAIL)) { true } == .infrastructure)
        #expect(Transfer.unconnected(Int(EADDRNOTAVAIL)) { false } == .connect)
        #expect(Transfer.unconnected(Int(ECONNREFUSED)) { true } == .connect)
    }

    @Test func `the loopback can be reached`() {
        #expect(LocalSource.exists(for: .v4(0x7f00_0001)))
    }

    @Test(
        .enabled(if: WithoutIPv6.isAvailable, "skipped: no namespace without IPv6 can be made here"),
        arguments: [
            [IPAddress.v6(high: 0x2606_4700_4700_0000, low: 0x1111)],
            [.v4(0x7f00_0001), .v6(high: 0x2606_4700_4700_0000, low: 0x1111)],
        ])
    func `without IPv6, an attempt at a name that has it is charged`(addresses: [IPAddress]) throws {
        let outcome = try WithoutIPv6.run {
            let metrics = Metrics()
            let configuration = HTTPClientConfiguration(
                allowedNetworks: [Network(parsing: "127.0.0.0/8")].compactMap { $0 })
            let client = try HTTPClient(
                configuration: configuration, logger: .silent, metrics: metrics,
                resolver: Resolver(metrics: metrics) { _ in .addresses(addresses) })
            client.start()
            defer { client.stop() }
            return client.sendAndWait(OutgoingRequest(url: "https://six.test/", timeout: .seconds(5)))
        }
        #expect(try outcome.failure().kind == .connect)
    }
}

/// A thread, and those that it starts, in a network of their own where IPv6 is switched off.
private enum WithoutIPv6 {
    struct Unavailable: Error {}

    static let isAvailable = (try? run { true }) ?? false

    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let done = Monitor<Result<Value, any Error>?>(nil)
        _ = ServiceThread("no-ipv6") {
            let result = Result {
                guard leave() else { throw Unavailable() }
                return try body()
            }
            done.change { $0 = result }
        }
        guard let result = done.wait(timeout: .seconds(60), for: { $0 }) else { throw Unavailable() }
        return try result.get()
    }

    /// Glibc's module leaves `unshare(2)` out.
    private static func leave() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let newNetwork: Int32 = 0x4000_0000
        guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0 else {
            return false
        }
        let file = open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return write(file, "1", 1) == 1
    }
}
