import Accounts
import Database
import HTTP

/// What the console needs to know.
package struct PageSettings: Sendable {
    package var address: ConsoleAddress
    package var limits: SessionLimits
    /// The proxies that say which address a browser has.
    package var proxies: TrustedProxies

    package init(
        address: ConsoleAddress = .loopback, limits: SessionLimits = SessionLimits(),
        proxies: TrustedProxies = TrustedProxies()
    ) {
        self.address = address
        self.limits = limits
        self.proxies = proxies
    }
}
