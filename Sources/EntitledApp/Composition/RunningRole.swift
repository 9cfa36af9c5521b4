import Base
import Daemon
import Foundation
import HTTP
import Synchronization

/// A role as one configuration makes it: what its listener serves with, and what works behind that.
struct RoleParts {
    struct Listening {
        let settings: HTTPServerConfiguration
        let handler: any HTTPHandler
    }

    /// Nil: the role has no listener.
    var listening: Listening?
    /// In the order in which they start and drain.
    let services: [any Service]
    /// What keeps the role from its work; none: nothing does.
    var notReady: @Sendable () -> [String]
}

/// A role of this process, from its start to its end. Another configuration's parts can take the place of its own while
/// it works: the listener and its connections stay.
final class RunningRole: Sendable {
    let role: Composition.Role
    let server: HTTPServer?
    /// In the order in which they start and drain.
    let services: [any Service]
    private let slot: ServiceSlot
    private let conditions: Mutex<@Sendable () -> [String]>
    private let logger: Logger
    private let metrics: Metrics

    /// - Parameters:
    ///   - isOptional: whether the process does without the role: a taken port is a warning.
    ///   - inherited: a socket that listens already, if the process was started with one.
    init(
        _ role: Composition.Role, _ parts: RoleParts, isOptional: Bool = false, inherited: Int32?,
        drainTimeout: Duration,
        logger: Logger, metrics: Metrics
    ) {
        self.role = role
        self.logger = logger
        self.metrics = metrics
        slot = ServiceSlot(role.rawValue, parts.services, drainTimeout: drainTimeout)
        conditions = Mutex(parts.notReady)
        server = parts.listening.map { listening in
            var settings = listening.settings
            settings.inherited = inherited
            return HTTPServer(settings, handler: listening.handler, logger: logger, metrics: metrics)
        }
        let listener: [any Service] =
            server.map { [isOptional ? OptionalService(service: $0, logger: logger) : $0] } ?? []
        services = listener + [slot]
        if let identity = parts.listening?.settings.identity {
            logger.notice("certificate loaded", record(identity))
        }
    }

    func notReady() -> [String] { conditions.withLock { $0 }() }

    /// Has these parts do the work from now on.
    ///
    /// - Returns: what drains the former ones, to be called once; nil where the process ends: then nothing has changed.
    /// - Throws: what keeps one of the services from starting; the former ones go on then.
    func replace(with parts: RoleParts) throws -> (@Sendable () -> Void)? {
        try slot.replace(with: parts.services) {
            if parts.listening != nil { RunningRole.awaitReadiness(parts) }
            conditions.withLock { $0 = parts.notReady }
            guard let server, let listening = parts.listening else { return }
            server.serve(listening.settings, with: listening.handler)
            if server.speaksTLS, let identity = listening.settings.identity {
                logger.notice("certificate reloaded", record(identity))
            }
        }
    }

    /// Requests go to what can answer them. Where the database is away, the former parts are as badly off.
    private static func awaitReadiness(_ parts: RoleParts) {
        let deadline = ContinuousClock.now + readyWithin
        while !parts.notReady().isEmpty, .now < deadline { Thread.sleep(forTimeInterval: 0.01) }
    }

    private static let readyWithin = Duration.seconds(3)

    /// Sets the gauge of the certificate's end; the fields of its log line.
    private func record(_ identity: TLSIdentity) -> Logger.Fields {
        metrics.gauge(.certificateEnds, Double(identity.notAfter / 1000), ["role": role.rawValue])
        return ["role": .string(role.rawValue), "tls.not_after": .string(Timestamp.precise(identity.notAfter))]
    }
}
