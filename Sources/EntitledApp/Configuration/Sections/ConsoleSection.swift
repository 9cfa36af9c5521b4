import Base
import Daemon

extension Configuration {
    /// The listener for operators.
    package struct Console: Sendable {
        package let listen: ListenAddress

        init(_ section: ConfigurationSection) {
            listen = section.value(
                "listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8082),
                "Address of the operator API; keep it private, or behind a proxy that ends TLS. `entitled run` goes on without it"
                    + " where the port is taken.")
        }
    }
}
