import AppStore
import Base
import Subscriptions

/// What operators ask of an endpoint, without what is secret of it: of a new one, or what is to change of one. It stands so in the
/// parameters of the change.
package struct EndpointForm: Sendable, Equatable {
    /// What is wrong with it.
    package struct Flaw: Error, Sendable, Equatable {
        /// The member of the request.
        package let field: String
        /// A sentence.
        package let message: String

        package init(_ field: String, _ message: String) {
            (self.field, self.message) = (field, message)
        }
    }

    package var url: String?
    /// `revenuecat`, `raw` or `firebase`; of a new one alone.
    package var format: String?
    /// Filters; empty: all.
    package var environments: [StoreEnvironment]?
    package var events: [String]?
    package var exceptedEvents: [String]?
    package var apps: [String]?
    package var includesSubscriber: Bool?
    package var extensionVersion: String?
    package var ordering: Ordering?
    package var retrySchedule = SettingChange<RetrySchedule>.keep
    package var isAsymmetric: Bool?
    package var withoutAuthorization = false
    package var withoutHeaders: [String] = []
    /// Events since then are sent to a new one, too; ms since 1970.
    package var since: Int64?

    package static let formats = EndpointFormat.allCases.map(\.name) + [EndpointFormat.firebase]
    /// Words for what events carry beside.
    package static let inclusions = ["none", "subscriber"]
    /// The word for the schedule of the configuration.
    package static let standardSchedule = "default"
    /// Values of one filter.
    package static let mostValues = 200
    private static let longestValue = 255

    package init() {}

    // MARK: - In a change

    package var json: JSON {
        .object([
            "url": url.map { .string($0) }, "format": format.map { .string($0) },
            "environments": environments.map { .strings($0.map(\.rawValue)) }, "events": events.map { .strings($0) },
            "excepted_events": exceptedEvents.map { .strings($0) }, "apps": apps.map { .strings($0) },
            "include": includesSubscriber.map { .string($0 ? "subscriber" : "none") },
            "extension_version": extensionVersion.map { .string($0) },
            "ordering": ordering.map { .string($0.rawValue) },
            "retry_schedule": scheduleWord.map { .string($0) }, "asymmetric": isAsymmetric.map { .bool($0) },
            "without_authorization": withoutAuthorization ? .bool(true) : nil,
            "without_headers": withoutHeaders.isEmpty ? nil : .strings(withoutHeaders), "since": since.map { .int($0) },
        ])
    }

    private var scheduleWord: String? {
        switch retrySchedule {
        case .keep: nil
        case .clear: EndpointForm.standardSchedule
        case .set(let schedule):
            schedule.waits.isEmpty
                ? "none" : schedule.waits.map { Duration.milliseconds($0).text }.joined(separator: ",")
        }
    }

    /// Reads the parameters of a change, which a role wrote that is not trusted.
    package init(_ json: JSON) throws(Flaw) {
        func text(_ name: String) throws(Flaw) -> String? {
            guard let value = json[name] else { return nil }
            guard let text = value.stringValue else { throw Flaw(name, "\(name) is not a text.") }
            return text
        }
        func texts(_ name: String) throws(Flaw) -> [String]? {
            guard let value = json[name] else { return nil }
            let texts = value.arrayValue?.compactMap(\.stringValue)
            guard let texts, texts.count == value.arrayValue?.count else {
                throw Flaw(name, "\(name) is not a list of texts.")
            }
            return texts
        }
        url = try text("url")
        format = try text("format")
        if let names = try texts("environments") {
            environments = []
            for name in names {
                guard let environment = StoreEnvironment(rawValue: name) else {
                    throw Flaw("environments", "There is no such environment.")
                }
                environments?.append(environment)
            }
        }
        (events, exceptedEvents, apps) = (try texts("events"), try texts("excepted_events"), try texts("apps"))
        includesSubscriber = try text("include").map { $0 == "subscriber" }
        extensionVersion = try text("extension_version")
        if let word = try text("ordering") {
            guard let ordering = Ordering(rawValue: word) else { throw Flaw("ordering", "There is no such ordering.") }
            self.ordering = ordering
        }
        if let word = try text("retry_schedule") { retrySchedule = try EndpointForm.schedule(word) }
        isAsymmetric = json["asymmetric"]?.boolValue
        withoutAuthorization = json["without_authorization"]?.boolValue ?? false
        withoutHeaders = try texts("without_headers") ?? []
        since = json["since"]?.intValue
    }

    /// Reads `1h,12h`, `none` for a single attempt, or `default`.
    package static func schedule(_ word: String) throws(Flaw) -> SettingChange<RetrySchedule> {
        guard word != standardSchedule else { return .clear }
        do {
            return .set(try RetrySchedule(parsing: word))
        } catch {
            throw Flaw("retry_schedule", "retry_schedule cannot be used: \(error).")
        }
    }

    // MARK: - What it asks

    package var isEmpty: Bool { self == EndpointForm() }

    /// Takes out what the endpoint is already.
    package mutating func remove(whatIsOf former: Endpoint) {
        func isSame<Value: Hashable & Sendable>(_ new: [Value]?, _ old: [Value]) -> Bool {
            new.map { Set($0) } == Set(old)
        }
        if url == former.url { url = nil }
        if isSame(environments, former.environments) { environments = nil }
        if isSame(events, former.events) { events = nil }
        if isSame(exceptedEvents, former.exceptedEvents) { exceptedEvents = nil }
        if isSame(apps, former.apps) { apps = nil }
        if includesSubscriber == former.includesSubscriber { includesSubscriber = nil }
        if extensionVersion == former.extensionVersion { extensionVersion = nil }
        if ordering == former.ordering { ordering = nil }
        switch retrySchedule {
        case .set(let schedule) where schedule == former.retrySchedule: retrySchedule = .keep
        case .clear where former.retrySchedule == nil: retrySchedule = .keep
        default: break
        }
    }

    /// As the function that changes endpoints takes it. A list of types takes the place of one of excepted types, and the other way
    /// round.
    package func edit(_ given: GivenSecrets) -> EndpointEdit {
        var edit = EndpointEdit()
        edit.url = url
        edit.environments = environments
        edit.events = events ?? (exceptedEvents?.isEmpty == false ? [] : nil)
        edit.exceptedEvents = exceptedEvents ?? (events?.isEmpty == false ? [] : nil)
        edit.apps = apps
        edit.authorization = given.authorization.map { .set($0) } ?? (withoutAuthorization ? .clear : .keep)
        edit.retrySchedule = retrySchedule
        edit.ordering = ordering
        edit.includesSubscriber = includesSubscriber
        edit.extensionVersion = extensionVersion
        edit.headers = given.headers
        edit.withoutHeaders = withoutHeaders
        edit.isAsymmetric = isAsymmetric
        return edit
    }

    // MARK: - What is wrong

    /// What is wrong with it for a new endpoint; nil: nothing, its URL aside.
    ///
    /// - Parameter configured: ids of apps.
    package func flaw(ofNewIn configured: [String]) -> Flaw? {
        guard url != nil else { return Flaw("url", "url is missing.") }
        guard let name = format ?? EndpointFormat.allCases.first?.name, EndpointForm.formats.contains(name) else {
            return Flaw("format", "There is no such format.")
        }
        let isFirebase = name == EndpointFormat.firebase
        let format = isFirebase ? EndpointFormat.revenuecat : EndpointFormat(name: name) ?? .revenuecat
        guard format == .revenuecat || ordering ?? Ordering.none == Ordering.none && since == nil else {
            return Flaw("format", "Raw notifications have no order, and none of before are sent.")
        }
        guard includesSubscriber != true || format == .revenuecat && !isFirebase else {
            return Flaw("include", "Only events in the format revenuecat can include customers.")
        }
        guard isFirebase || extensionVersion == nil else {
            return Flaw("extension_version", "extension_version needs the format firebase.")
        }
        guard !withoutAuthorization, withoutHeaders.isEmpty else {
            return Flaw("without_headers", "A new endpoint has nothing that could be removed.")
        }
        return flaw(ofFilters: format, configured)
    }

    /// What is wrong with it for this endpoint; nil: nothing, its URL aside.
    ///
    /// - Parameters:
    ///   - configured: ids of apps.
    ///   - given: what is secret and is set.
    ///   - isElsewhere: whether the URL leads to another host, port or scheme than before.
    package func flaw(
        ofChanging former: Endpoint, _ configured: [String], _ given: GivenSecrets, isElsewhere: Bool
    ) -> Flaw? {
        guard format == nil, since == nil, given.secret == nil else {
            return Flaw("format", "The format and the secret of an endpoint are not changed so.")
        }
        if former.isOperations {
            guard url == nil else {
                return Flaw("url", "\(former.id) comes from the configuration (webhooks.operations_url).")
            }
            guard events == nil, exceptedEvents == nil, environments == nil, apps == nil, ordering == nil,
                includesSubscriber == nil
            else {
                return Flaw("events", "\(former.id) gets every operations event: no filter or order applies.")
            }
        }
        guard former.format == .revenuecat || ordering == nil else {
            return Flaw("ordering", "The endpoint receives raw notifications, which have no order.")
        }
        guard former.formatName == EndpointFormat.revenuecat.name || includesSubscriber != true else {
            return Flaw("include", "The endpoint receives \(former.formatName), and only events can include customers.")
        }
        guard former.extensionVersion != nil || extensionVersion == nil else {
            return Flaw("extension_version", "The endpoint does not have the format firebase, so it has no version.")
        }
        func isNamed(_ name: String, _ names: [String]) -> Bool {
            names.contains { $0.lowercased() == name.lowercased() }
        }
        for name in withoutHeaders where !isNamed(name, former.headerNames) {
            return Flaw("without_headers", "The endpoint has no header of the name \(name).")
        }
        guard given.authorization == nil || !withoutAuthorization else {
            return Flaw("without_authorization", "The authorization cannot be set and removed.")
        }
        let staying = former.headerNames.filter { !isNamed($0, withoutHeaders + given.headers.map(\.name)) }
        guard staying.count + given.headers.count <= CustomHeader.limit else {
            return Flaw("headers", "An endpoint can have at most \(CustomHeader.limit) headers of its own.")
        }
        let keepsAuthorization = former.hasAuthorization && !withoutAuthorization && given.authorization == nil
        // No operator is shown them, and so none may have them sent to a server of their own.
        guard !isElsewhere || !keepsAuthorization && staying.isEmpty else {
            return Flaw(
                "url",
                "The authorization and the headers of the endpoint would be sent to another server: give them anew, remove"
                    + " them, or change the URL on the host of the installation.")
        }
        return flaw(ofFilters: former.format, configured)
    }

    private func flaw(ofFilters format: EndpointFormat, _ configured: [String]) -> Flaw? {
        let lists = [("events", events), ("excepted_events", exceptedEvents), ("apps", apps)]
        for (name, values) in lists {
            guard let values else { continue }
            guard values.count <= EndpointForm.mostValues,
                values.allSatisfy({ (1...EndpointForm.longestValue).contains($0.utf8.count) && !$0.utf8.contains(0) })
            else { return Flaw(name, "\(name) has too many values, or one that is too long.") }
        }
        guard events?.isEmpty ?? true || exceptedEvents?.isEmpty ?? true else {
            return Flaw(
                "excepted_events",
                "events and excepted_events cannot be combined: events lists every type that the endpoint receives.")
        }
        for (name, types) in lists.prefix(2) {
            for type in types ?? [] {
                if let objection = EndpointForm.objection(toType: type, format) {
                    return Flaw(name, "The type \(type) cannot be chosen: \(objection).")
                }
            }
        }
        // What was granted is of no app, and has a name in its place.
        for app in apps ?? [] where !configured.contains(app) && app != Grant.app {
            return Flaw(
                "apps", "No app has the id \(app); configured: \(configured.joined(separator: ", ")), \(Grant.app).")
        }
        return nil
    }

    private static let longestType = 64

    /// Why no endpoint can have a type, as the end of a sentence. Apple adds types of notifications at any time.
    private static func objection(toType type: String, _ format: EndpointFormat) -> String? {
        guard format == .raw else { return EventType.objection(to: type) }
        guard !NotificationType(rawValue: type).isKnown else { return nil }
        guard EventType(rawValue: type) == nil else {
            return "it is an event type, and raw notifications have Apple's types, such as DID_RENEW"
        }
        let isPlausible = type.utf8.allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isPlausible && type.utf8.count <= longestType
            ? nil : "Apple's types are in capitals, as in DID_RENEW"
    }
}

extension Endpoint {
    /// All that can be seen of its settings: a plan for a change holds while it is the same.
    var version: String {
        JSON.array([
            .string(id), .string(url), .strings(environments.map(\.rawValue)), .strings(events),
            .strings(exceptedEvents),
            .strings(apps), .string(formatName), .bool(includesSubscriber), .text(extensionVersion),
            .string(ordering.rawValue), .text(retrySchedule?.text), .bool(hasAuthorization), .strings(headerNames),
            .text(disabledReason),
        ]).text
    }
}
