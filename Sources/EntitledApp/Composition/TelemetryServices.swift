import Base
import Crypto
import Daemon
import Foundation
import HTTP
import Subscriptions

/// What records traces in this process, and what sends them.
struct TelemetryServices {
    let tracer: Tracer
    /// Nil where no receiver is configured.
    let exporter: SpanExporter?

    /// - Parameter role: of the process.
    init(_ settings: Configuration.Telemetry, _ role: String, _ logger: Logger, _ metrics: Metrics) throws {
        guard let url = settings.otlpURL, settings.sample.millionths > 0 else {
            (tracer, exporter) = (.off, nil)
            return
        }
        let resource = [
            ("service.name", "entitled-\(role)"), ("service.version", Version.current),
            ("service.instance.id", UUIDText.upper(SecureRandom.bytes(16)).lowercased()),
            ("host.name", ProcessInfo.processInfo.hostName),
        ]
        tracer = Tracer(sample: Double(settings.sample.millionths) / 1_000_000, metrics: metrics)
        do {
            exporter = try SpanExporter(
                url: url, headers: settings.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.exposed) },
                resource: resource, tracer: tracer, logger: logger, metrics: metrics)
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}
