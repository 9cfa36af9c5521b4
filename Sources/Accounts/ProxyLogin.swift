import Base
import Crypto
import HTTP

/// Log-in by a proxy that names the operator in a header of each request, as oauth2-proxy, Authelia and Caddy's
/// `forward_auth` do. The proxy says a name and nothing else: operators and their roles are made on the host.
package struct ProxyLogin: Sendable {
    /// Why the name that a request has is not believed.
    package enum Refusal: Error, Sendable, Equatable {
        /// The request is from none of the proxies.
        case otherPeer
        /// The header, or that of the secret, stands twice.
        case repeated
        /// The secret of the proxy is missing, or it is another one.
        case otherSecret

        package var text: String {
            switch self {
            case .otherPeer:
                "It names an operator, but does not come from an address of console.proxy.from."
            case .repeated: "The header that names the operator, or the one of the proxy's secret, occurs twice."
            case .otherSecret:
                "It names an operator, but its \(ProxyLogin.secretHeader) is not the secret of console.proxy.secret."
            }
        }
    }

    /// In which the proxy sends its secret.
    package static let secretHeader = "X-Entitled-Proxy"

    private let networks: [Network]
    private let header: String
    private let secret: Redacted<String>?
    /// Whether passwords and log-in links work, too. Without them a request that names no operator is refused.
    package let allowsPasswords: Bool

    /// - Parameters:
    ///   - ranges: of the proxies' addresses, in CIDR notation.
    ///   - header: its name, in any case.
    ///   - secret: which the proxy has to send with each request; nil: its address suffices.
    package init(from ranges: [String], header: String, secret: Redacted<String>?, allowsPasswords: Bool) {
        networks = ranges.compactMap(Network.init(parsing:))
        self.header = header.lowercased()
        self.secret = secret
        self.allowsPasswords = allowsPasswords
    }

    /// The name of the operator whose request it is; nil: the request names none.
    ///
    /// - Parameter peer: numeric address of the connection.
    package func name(_ head: HTTPRequestHead, peer: String) throws(Refusal) -> String? {
        let names = values(of: header, head)
        guard !names.isEmpty else { return nil }
        guard let address = IPAddress(parsing: peer)?.unmapped, networks.contains(where: { $0.contains(address) })
        else {
            throw .otherPeer
        }
        guard let name = names.first, names.count == 1 else { throw .repeated }
        if let secret {
            let given = values(of: ProxyLogin.secretHeader.lowercased(), head)
            guard given.count <= 1 else { throw .repeated }
            guard ConstantTime.equal(Array((given.first ?? "").utf8), Array(secret.exposed.utf8)) else {
                throw .otherSecret
            }
        }
        return name.isEmpty ? nil : name
    }

    private func values(of name: String, _ head: HTTPRequestHead) -> [String] {
        head.headers.filter { $0.name == name }.map(\.value)
    }
}
