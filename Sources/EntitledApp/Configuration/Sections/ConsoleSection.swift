import Accounts
import Base
import Daemon
import Database

extension Configuration {
    /// The listener for operators.
    package struct Console: Sendable {
        package let listen: ListenAddress
        /// Under which browsers reach the pages.
        package let address: ConsoleAddress
        package let limits: SessionLimits

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
