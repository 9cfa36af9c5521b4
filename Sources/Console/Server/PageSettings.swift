import Accounts
import Database
import HTTP

/// What the console needs to know.
package struct PageSettings: Sendable {
    package var address: ConsoleAddress
    package var limits: SessionLimits
    /// The proxies that say which address a browser has.
    package var proxies: TrustedProxies
    /// Nil: operators log in here.
    package var proxyLogin: ProxyLogin?

    package init(
        address: ConsoleAddress = .loopback, limits: SessionLimits = SessionLimits(),
        proxies: TrustedProxies = TrustedProxies(), proxyLogin: ProxyLogin? = nil
    ) {
        self.address = address
        self.limits = limits
        self.proxies = proxies
        self.proxyLogin = proxyLogin
    }

    /// Whether a proxy alone logs operators in.
    var hasNoPasswords: Bool { proxyLogin.map { !$0.allowsPasswords } ?? false }

    /// The browser of a request, as sessions and limits know it.
    func client(of request: HTTPRequest) -> Login.Client {
        Login.Client(
            address: proxies.client(request.head, peer: request.remoteAddress)?.ip,
            browser: request.head.header("user-agent") ?? "")
    }
}
