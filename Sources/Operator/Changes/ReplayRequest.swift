import AppStoreAPI
import Base
import Database
import Duties
import Subscriptions

/// Replays as operators ask for them: what of them is read from a filter.
enum ReplayRequest {
    /// `{"endpoint", "mode"?, "since", "until"?, "type"?}`, or `{"endpoint", "mode": "missing", "outage", "type"?}`
    static func webhooks(
        _ parameters: inout DeskParameters, _ desk: DatabaseDesk, _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        let id = try needed("endpoint", &parameters)
        let mode = try parameters.choice("mode", WebhookReplay.Mode.self) ?? .failed
        let outage = try parameters.integer("outage", outages).map { try desk.outageRow($0) }
        let (since, until): (Int64, Int64)
        if let outage {
            // The database's clock may be ahead.
            (since, until) = (outage.from, max(desk.now, outage.until))
        } else {
            (since, until) = try period(&parameters, desk)
        }
        let types = try parameters.list("type")
        try parameters.finish()
        guard outage == nil || mode == .missing else {
            throw DeskError.badRequest(
                "Of an outage only missing events can be sent: mode must be missing.", field: "mode")
        }
        guard let endpoint = try EndpointTable.list(id: id, on: desk.connection).first else {
            throw DeskError.badRequest("There is no endpoint \(id).", field: "endpoint")
        }
        let replay = WebhookReplay(
            endpoint: id, mode: mode, since: since, until: until, types: types,
            missed: outage.map { HistoryReplay.time(of: $0.from..<$0.until) })
        if let misuse = replay.misuse(of: endpoint) {
            throw DeskError.badRequest("This cannot be asked for: \(misuse).", field: "mode")
        }
        for type in types {
            guard let objection = objection(to: type, of: endpoint) else { continue }
            throw DeskError.badRequest("type is \(type): \(objection).", field: "type")
        }
        return ChangeRoute.Subject(
            target: id, parameters: try with(rate: &body, of: Job.webhooksKind, replay.json))
    }

    private static func objection(to type: String, of endpoint: Endpoint) -> String? {
        if endpoint.isOperations { return OperationsEvent.isOne(type) ? nil : "there is no such operations event" }
        switch endpoint.format {
        case .revenuecat: return EventType.objection(to: type)
        case .raw: return HistoryReplay.isType(type) ? nil : "Apple's types are in capitals, such as DID_RENEW"
        }
    }

    /// `{"app", "environment"?, "since", "until"?, "type"?, "only_failures"?, "send_events"?}`
    static func history(
        _ parameters: inout DeskParameters, _ desk: DatabaseDesk, _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        let (since, until) = try period(&parameters, desk)
        let place = try place(&parameters, desk)
        let types = try parameters.list("type")
        let onlyFailures = try parameters.flag("only_failures")
        let sendsEvents = try parameters.flag("send_events")
        try parameters.finish()
        let reach = NotificationHistoryQuery.reach(in: place.environment)
        guard since >= desk.now - reach - tolerance else {
            throw DeskError.badRequest(
                "Apple keeps its history of \(place.environment.rawValue) for \(reach / 86_400_000) days: nothing is known"
                    + " before \(Timestamp.text(desk.now - reach)).", field: "since")
        }
        guard types.count <= HistoryReplay.mostTypes, types.allSatisfy(HistoryReplay.isType) else {
            throw DeskError.badRequest(
                "type must be up to \(HistoryReplay.mostTypes) notification types of Apple, such as DID_RENEW.",
                field: "type")
        }
        let replay = HistoryReplay(
            HistoryFilter(place, types: types, onlyFailures: onlyFailures), from: since, until: until,
            sendsEvents: sendsEvents, isDry: try body.flag("dry_run"))
        return ChangeRoute.Subject(
            target: replay.target, parameters: try with(rate: &body, of: Job.historyKind, replay.json))
    }

    /// `{"outage", "app"?, "environment"?, "send_events"?}`
    static func outage(
        _ parameters: inout DeskParameters, _ desk: DatabaseDesk, _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        guard let number = try parameters.integer("outage", outages) else {
            throw DeskError.badRequest("outage is missing: its number, as the list of outages has it.", field: "outage")
        }
        let place = try place(&parameters, desk)
        let sendsEvents = try parameters.flag("send_events")
        try parameters.finish()
        let row = try desk.outageRow(number)
        let replay = HistoryReplay.of(row.from..<row.until, number: number, place, sendsEvents: sendsEvents)
        let oldest = HistoryScan.oldest(in: place.environment, now: desk.now)
        guard replay.until > oldest else {
            throw DeskError.badRequest(
                "Apple keeps its history of \(place.environment.rawValue) for"
                    + " \(NotificationHistoryQuery.reach(in: place.environment) / 86_400_000) days: nothing is known of this"
                    + " outage any more.", field: "outage")
        }
        return ChangeRoute.Subject(
            target: replay.target, parameters: try with(rate: &body, of: Job.historyKind, replay.json))
    }

    // MARK: - What all have

    /// Numbers of outages.
    private static let outages: ClosedRange<Int64> = 0...Int64(1) << 40

    /// How much older than Apple's history a beginning may be: a limit that was given exactly has passed by now; ms.
    private static let tolerance: Int64 = 600_000

    private static func needed(_ name: String, _ parameters: inout DeskParameters) throws(DeskError) -> String {
        guard let text = parameters.text(name) else { throw .badRequest("\(name) is missing.", field: name) }
        return text
    }

    /// Up to now at most, so that nothing newer slips in.
    private static func period(
        _ parameters: inout DeskParameters, _ desk: DatabaseDesk
    ) throws(DeskError) -> (since: Int64, until: Int64) {
        guard let since = try parameters.instant("since", now: desk.now) else {
            throw .badRequest("since is missing: the beginning of the period.", field: "since")
        }
        let until = try parameters.instant("until", now: desk.now)
        guard WebhookReplay.instants.contains(since) else {
            throw .badRequest("since must not be before 1970.", field: "since")
        }
        guard since < desk.now else { throw .badRequest("since must be past.", field: "since") }
        guard until.map({ $0 > since }) ?? true else {
            throw .badRequest("until must be after since.", field: "until")
        }
        return (since, min(until ?? desk.now, desk.now))
    }

    /// An app and an environment whose history can be asked for.
    private static func place(
        _ parameters: inout DeskParameters, _ desk: DatabaseDesk
    ) throws(DeskError) -> AppScope {
        let (given, environment) = (parameters.text("app"), try parameters.environment())
        let apps = desk.settings.apps
        guard let app = given ?? (apps.count == 1 ? apps.first : nil) else {
            throw .badRequest("app is missing; there are: \(apps.joined(separator: ", ")).", field: "app")
        }
        guard apps.contains(app) else {
            throw .badRequest("There is no app \(app); there are: \(apps.joined(separator: ", ")).", field: "app")
        }
        guard desk.settings.serverAPIApps.contains(app) else {
            throw .badRequest(
                "Apple's history of \(app) cannot be read: the app has no server_api in the configuration.",
                field: "app")
        }
        let environments = desk.settings.scopes.filter { $0.app == app }.map(\.environment)
        guard
            let chosen = environment ?? (environments.contains(.production) ? .production : environments.first),
            environments.contains(chosen)
        else { throw .badRequest("The app \(app) does not accept data of this environment.", field: "environment") }
        return AppScope(app: app, environment: chosen)
    }

    private static func with(
        rate body: inout ChangeBody, of kind: String, _ parameters: JSON
    ) throws(DeskError) -> JSON {
        guard let rate = try body.integer("rate", in: 1...Job.mostRate(of: kind)) else { return parameters }
        return .object((parameters.members ?? []) + [JSON.Member(name: "rate", value: .int(rate))])
    }
}
