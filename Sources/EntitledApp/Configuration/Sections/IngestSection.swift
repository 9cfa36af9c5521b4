import Base
import Daemon

extension Configuration {
    /// The listener for the App Store's notifications.
    package struct Ingest: Sendable {
        package let listen: ListenAddress
        package let maxBodyBytes: Int
        package let headerTimeout: Duration
        package let bodyTimeout: Duration
        package let idleTimeout: Duration
        package let commitTimeout: Duration
        package let maxConnections: Int
        package let maxConnectionsPerAddress: Int
        /// nil: plain HTTP, behind a proxy.
        package let tls: TLSFiles?

        private static let timeouts = Duration.milliseconds(100)...Duration.seconds(600)

        init(_ section: ConfigurationSection) {
            listen = section.value(
                "listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 8080),
                "Address that accepts the App Store's notifications, usually behind a proxy that ends TLS. Port 0 takes a free port."
            )
            maxBodyBytes = Int(
                section.value(
                    "max_body_bytes", .integer(1024...(64 << 20), unit: "(bytes)"), default: 1 << 20,
                    "Larger bodies are rejected with 413 before they are read."))
            headerTimeout = section.value(
                "header_timeout", .duration(Ingest.timeouts), default: .seconds(10),
                "Time limit for the head of a request.")
            bodyTimeout = section.value(
                "body_timeout", .duration(Ingest.timeouts), default: .seconds(30),
                "Time limit for the body of a request.")
            idleTimeout = section.value(
                "idle_timeout", .duration(Ingest.timeouts), default: .seconds(60),
                "How long a connection stays open between requests.")
            commitTimeout = section.value(
                "commit_timeout", .duration(.seconds(2)...(.seconds(60))), default: .seconds(8),
                "How long a notification may wait to be stored; then the answer is 503, whatever the database does, and"
                    + " Apple repeats it.")
            maxConnections = Int(
                section.value(
                    "max_connections", .integer(1...65535, unit: "(connections)"), default: 1000,
                    "Maximum open connections; a further one is closed at once, or replaces the one that has been"
                        + " silent longest (for a second at least) before or between requests. Each takes 50 kB at most, and"
                        + " an open file (LimitNOFILE). The App Store opens far fewer: raise it where strangers hold"
                        + " connections open."))
            maxConnectionsPerAddress = Int(
                section.value(
                    "max_connections_per_address", .integer(1...65535, unit: "(connections)"), default: 256,
                    "Maximum open connections of one address (IPv6: of one /64 network). Loopback and private addresses have no such"
                        + " limit, since a proxy there brings all requests: limit them in the proxy"
                        + " (deploy/nginx.conf.example)."))
            let certificate = section.value(
                "tls_certificate_file",
                .optional(.readableFile("the path of a certificate chain (PEM, the server's own first)")), default: nil,
                example: #""/etc/letsencrypt/live/notifications.example.com/fullchain.pem""#,
                "Without a proxy: TLS (1.2 or newer) with this certificate chain; needs ingest.tls_key_file too. Both files"
                    + " are read again on SIGHUP; files that cannot be used change nothing.")
            let key = section.value(
                "tls_key_file", .optional(.readableFile("the path of a private key (PEM, no password)")), default: nil,
                example: #""/etc/letsencrypt/live/notifications.example.com/privkey.pem""#,
                "The private key of ingest.tls_certificate_file.")
            ConfigurationRules.checkTLS(certificate, key, section.reader)
            tls = certificate.flatMap { certificate in key.map { TLSFiles(certificate: certificate, key: $0) } }
        }
    }
}
