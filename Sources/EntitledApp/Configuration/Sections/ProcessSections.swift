import Base
import Daemon
import Subscriptions

extension Configuration {
    package struct Admin: Sendable {
        package let listen: ListenAddress

        init(_ section: ConfigurationSection) {
            listen = section.value(
                "listen", .listen, default: ListenAddress(host: "127.0.0.1", port: 9464),
                "Address of health (/healthz, /readyz) and metrics (/metrics) of every process; keep it private.")
        }
    }

    package struct Log: Sendable {
        package let level: Logger.Level

        init(_ section: ConfigurationSection) {
            level = section.value(
                "level", .word, default: .info, "Lowest level of log lines that are written.")
        }
    }

    /// Where traces go.
    package struct Telemetry: Sendable {
        /// Of the receiver, without `/v1/traces`; nil: no traces.
        package let otlpURL: String?
        /// Share of the traces, 0 to 1.
        package let sample: Share
        package let headers: [String: Redacted<String>]

        init(_ section: ConfigurationSection) {
            otlpURL = section.value(
                "otlp_url", .optional(.baseURL), default: nil, example: #""http://127.0.0.1:4318""#,
                "Base URL of a receiver of OpenTelemetry traces, such as a collector: spans are posted to its /v1/traces as"
                    + " OTLP in JSON. Not set: no spans are made.")
            sample = section.value(
                "sample", .share, default: Share(millionths: 10_000),
                "Share of the traces that is recorded, decided by the trace's id, so that all processes record the same ones."
            )
            headers = section.value(
                "headers", .map("an object of header names, each with a text", of: .headerValue), default: [:],
                example: #"{ authorization: "Bearer …" }"#, isSecret: true,
                "Headers of each request to the receiver, such as its key.")
        }
    }

    /// Rates that Apple does not sign and that reports need.
    package struct Reports: Sendable {
        /// Share of the price by country (ISO 3166 alpha-2).
        package let tax: [String: Share]
        /// In which the days of reports begin.
        package let timeZone: TimeZoneName
        /// Zero: never.
        package let refresh: Duration

        init(_ section: ConfigurationSection) {
            timeZone = section.value(
                "time_zone", .timeZone, default: .utc,
                "Time zone of the business, by its IANA name such as Europe/Vienna: days, weeks and months of `entitled report` begin in it."
            )
            refresh = section.value(
                "refresh", .durationOrNever(.seconds(60)...(.seconds(86400))), default: .zero,
                "How often a worker brings transactions and entitlements_now of the views for analysts (entitled_reports) up to"
                    + " date; 5m is a good start. Takes some 350 bytes on disk for each transaction. 0s or never leaves them"
                    + " empty, or as they are.")
            tax = section.value(
                "tax", .sharesByCountry, default: [:], example: "{ DE: 0.1597, FR: 0.1667 }",
                "Taxes as a share of the price that customers pay, by country of their storefront, for `tax_percentage` of"
                    + " events; elsewhere 0. Of a price with 19 % VAT it is 0.1597: 0.19 / 1.19.")
        }
    }
}
