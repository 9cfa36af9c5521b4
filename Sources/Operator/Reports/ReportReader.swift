import Base
import CLI
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

/// What a report is asked for, as it was asked.
package struct ReportRequest: DeskQuestion, Hashable {
    let from: String
    let to: String?
    let app: String?
    let environment: StoreEnvironment
    let step: ReportCalendar.Step

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        guard let from = parameters.text("from") else {
            throw .badRequest("from is missing: it is the beginning of the report's time.", field: "from")
        }
        self.from = from
        to = parameters.text("to")
        app = parameters.text("app")
        environment = try parameters.environment() ?? .production
        step = try parameters.choice("by", ReportCalendar.Step.self) ?? .total
        try parameters.finish()
        for (name, text) in [("from", from), ("to", to)] {
            guard let text, TimeArgument(text: text) == nil else { continue }
            throw .badRequest("\(name) is \(text); it must be \(TimeArgument.allowed).", field: name)
        }
    }

    /// - Parameter now: by the database's clock, in ms since 1970.
    func calendar(now: Int64, in zone: LocalZone) throws(DeskError) -> ReportCalendar {
        let begin = TimeArgument(text: from)?.milliseconds(now: now, in: zone) ?? now
        let asked = to.flatMap { TimeArgument(text: $0) }?.milliseconds(now: now, in: zone) ?? now
        guard begin < asked, begin < now else {
            throw .badRequest("from must be in the past, and before to.", field: "from")
        }
        guard begin >= ReportCalendar.earliest else {
            throw .badRequest("from must not be before 0001-01-01.", field: "from")
        }
        guard let calendar = ReportCalendar(from: begin, to: min(now, asked), by: step, in: zone) else {
            throw .badRequest(
                "The time has more than \(ReportCalendar.limit) parts; choose longer ones with by, or a shorter time.",
                field: "by")
        }
        return calendar
    }
}

/// Counts reports on a thread and a connection of its own, one at a time: each reads every purchase.
package final class ReportReader: Service {
    package let name = "console-reports"

    private enum Outcome: Sendable {
        case report(Report)
        case refused(DeskError)
    }

    private struct State {
        var outcomes: [ReportRequest: (outcome: Outcome, ended: ContinuousClock.Instant)] = [:]
        var wanted: [ReportRequest] = []
        var underWay: ReportRequest?
    }

    private static let mostWanted = 4
    private static let mostKept = 8
    /// A report is counted anew when it is asked for later than so.
    private static let life = Duration.seconds(60)
    /// How long a request waits.
    private static let patience = Duration.seconds(5)

    private let session: PostgresSession
    private let foldSettings: FoldSettings
    private let zone: LocalZone
    private let zoneName: TimeZoneName
    private let logger: Logger
    private let room: WaitingRoom
    private let state = Monitor(State())
    private let loop = Loop("console-reports")

    /// - Parameter room: for requests that wait; each keeps a thread.
    package init(
        session: PostgresSession, foldSettings: FoldSettings, zone: LocalZone, zoneName: TimeZoneName, logger: Logger,
        room: WaitingRoom
    ) {
        self.room = room
        (self.session, self.foldSettings, self.logger) = (session, foldSettings, logger)
        (self.zone, self.zoneName) = (zone, zoneName)
    }

    package func start() {
        loop.start { [self] loop in
            loop.run {
                let next = state.change { state -> ReportRequest? in
                    guard !state.wanted.isEmpty else { return nil }
                    state.underWay = state.wanted.removeFirst()
                    return state.underWay
                }
                guard let next else { return .whenWoken }
                count(next)
                return .again
            }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.beginDraining()
        session.cancel()
        loop.join(until: deadline) ? session.close() : session.cut()
    }

    private func count(_ request: ReportRequest) {
        let question = ReportQuestion(
            app: request.app, environment: request.environment, step: request.step, timeZone: zoneName)
        var outcome: Outcome?
        do {
            outcome = try session.withConnection { connection in
                try ReportRun(question, foldSettings: foldSettings, threads: 1).run(
                    on: connection, calendar: { try request.calendar(now: $0, in: zone) },
                    isDraining: { loop.isDraining })
            }.map(Outcome.report)
        } catch let error as DeskError {
            outcome = .refused(error)
        } catch {
            logger.warning("report not counted", ["error": .string("\(error)")])
        }
        // It is used too rarely to keep a connection.
        session.close()
        let end = outcome ?? .refused(.unavailable("The report could not be counted; the log has the reason."))
        state.change { state in
            state.underWay = nil
            state.outcomes[request] = (outcome: end, ended: .now)
            while state.outcomes.count > ReportReader.mostKept,
                let oldest = state.outcomes.min(by: { $0.value.ended < $1.value.ended })?.key
            {
                state.outcomes[oldest] = nil
            }
        }
    }

    /// Waits for a report for a short time.
    ///
    /// - Throws: `DeskError`; 503 `computing` where it is not counted yet.
    func report(_ request: ReportRequest) throws(DeskError) -> Report {
        let isWanted = state.change { state -> Bool in
            if let known = state.outcomes[request] {
                guard .now - known.ended > ReportReader.life else { return true }
                state.outcomes[request] = nil
            }
            if state.underWay == request || state.wanted.contains(request) { return true }
            guard state.wanted.count < ReportReader.mostWanted else { return false }
            state.wanted.append(request)
            return true
        }
        guard isWanted else { throw .unavailable("Too many reports are waiting to be counted.") }
        loop.wake()
        let outcome = room.wait { mayWait in
            state.wait(timeout: mayWait ? ReportReader.patience : .zero) { $0.outcomes[request]?.outcome }
        }
        switch outcome {
        case .report(let report)?: return report
        case .refused(let error)?:
            // The next one who asks has it counted anew.
            state.change { $0.outcomes[request] = nil }
            throw error
        case nil: throw .computing("The report is being counted; ask again in some seconds.")
        }
    }
}

/// A report, as `entitled report --json` has it.
struct ReportAnswer: DeskAnswer {
    let report: Report

    var json: JSON { report.json }
}

/// What does not fit together, as `entitled catalog check --json` has it.
package struct CatalogueAnswer: DeskAnswer {
    package let findings: [CatalogueCheck.Finding]

    package init(findings: [CatalogueCheck.Finding]) { self.findings = findings }

    package var errors: Int { findings.filter { $0.severity == .error }.count }

    package var json: JSON {
        .object([
            "ok": .bool(errors == 0),
            "findings": .array(
                findings.map {
                    .object([
                        "severity": .string($0.severity.rawValue), "code": .string($0.code),
                        "subject": .string($0.subject), "message": .string($0.message),
                    ])
                }),
        ])
    }
}

extension DatabaseDesk {
    func report(_ request: ReportRequest) throws -> ReportAnswer {
        try viewer.check(.charts)
        if let app = request.app {
            let environments = settings.scopes.filter { $0.app == app }.map(\.environment)
            guard environments.contains(request.environment) else {
                throw DeskError.badRequest(
                    environments.isEmpty
                        ? "There is no app \(app)."
                        : "The app \(app) does not accept data of \(request.environment.rawValue).",
                    field: environments.isEmpty ? "app" : "environment")
            }
        }
        guard let reader = settings.reports else { throw DeskError.unavailable("No reports are counted here.") }
        return ReportAnswer(report: try reader.report(request))
    }
}
