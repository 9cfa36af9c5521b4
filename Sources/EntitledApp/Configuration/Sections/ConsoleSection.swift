import Accounts
import Base
import Daemon
import Database
import HTTP

extension Configuration {
    /// The listener for operators.
    package struct Console: Sendable {
        package let listen: ListenAddress
        /// Under which browsers reach the pages.
        package let address: ConsoleAddress
        package let limits: SessionLimits
        /// Nil: operators log in at the console itself.
        package let proxy: Proxy?

        init(_ section: ConfigurationSection) {
            listen = section.value(
                "listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8082),
                "Address of the console and the operator API; keep it private, or behind a proxy that ends TLS. `entitled run` goes"
                    + " on without it where the port is taken.")
            let url = section.value(
                "public_url", .optional(.consoleURL), default: nil, example: #""https://console.example.com""#,
                "Address by which browsers reach the console through a proxy that ends TLS; pages answer this host only."
                    + " Default: this host by its own names, without TLS.")
            address = url.flatMap { ConsoleAddress($0) } ?? .loopback
            let standard = SessionLimits()
            limits = SessionLimits(
                idle: section.value(
                    "session_idle", .duration(.seconds(60)...(.seconds(86_400))), default: standard.idle,
                    "How long an operator stays logged in without a request."),
                life: section.value(
                    "session_life", .duration(.seconds(300)...(.seconds(7 * 86_400))), default: standard.life,
                    "How long an operator stays logged in at most."))
            proxy = section.optional(
                "proxy",
                "A proxy that logs operators in, and names them in a header of each request: oauth2-proxy, Authelia, Caddy's"
                    + " forward_auth. It must delete that header from what clients send. Operators and their roles are made by"
                    + " `entitled users add`, under the name that the proxy says; other names are refused.",
                Proxy.init)
        }

        /// A proxy that logs operators in.
        package struct Proxy: Sendable {
            package let ranges: [String]
            package let header: String
            package let secret: Redacted<String>?
            package let allowsPasswords: Bool

            init(_ section: ConfigurationSection) {
                ranges = section.value(
                    "from", .list(of: .networkRange), default: TrustedProxies.standard,
                    "Addresses of the proxy, as CIDR ranges. A request from elsewhere that names an operator is"
                        + " rejected."
                )
                header = section.required(
                    "user_header", .headerName, placeholder: "X-Forwarded-Email", example: #""X-Forwarded-Email""#,
                    "Header in which the proxy names the operator.")
                secret = section.value(
                    "secret", .optional(.apiKey), default: nil, isSecret: true,
                    "Secret that the proxy sends in X-Entitled-Proxy with each request. Required if the proxy is on"
                        + " another host; without it, any process of this host could name an operator."
                )
                allowsPasswords = section.value(
                    "passwords", .flag, default: false,
                    "Whether passwords and log-in links work, too, for requests that name no operator.")
            }

            var login: ProxyLogin {
                ProxyLogin(from: ranges, header: header, secret: secret, allowsPasswords: allowsPasswords)
            }

            /// Whether each of the addresses is of this host.
            var isLocal: Bool {
                ranges.allSatisfy { range in
                    guard let text = range.split(separator: "/").first, let address = IPAddress(parsing: String(text))
                    else { return false }
                    return switch address {
                    case .v4(let bits): bits >> 24 == 127
                    case .v6(let high, let low): high == 0 && low == 1
                    }
                }
            }
        }
    }
}

extension ValueFormat where Value == String {
    /// Of the console, as browsers see it.
    static var consoleURL: ValueFormat<String> {
        .text("an https: URL without a path, or an http: URL of localhost or 127.0.0.1", write: { $0 }) { text in
            ConsoleAddress(text) == nil ? nil : text
        }
    }
}
