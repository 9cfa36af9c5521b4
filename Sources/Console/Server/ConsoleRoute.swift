import Base
import Operator
import Subscriptions

/// A page or a form: its path, who may ask for it, and what answers.
struct ConsoleRoute: Sendable {
    enum Part: Sendable, Equatable {
        case word(String)
        case parameter(String)
    }

    enum Access: Sendable {
        /// Everybody, also without a session.
        case everybody
        case operators
    }

    /// Which threads do it.
    enum Work: Sendable {
        case page
        /// Checks a password, which takes a core and 32 MiB.
        case password
    }

    let method: String
    let parts: [Part]
    let access: Access
    let work: Work
    let answer: @Sendable (PageCall) throws -> PageAnswer

    /// - Parameter path: behind `/console`, such as `/customers/ID`; capital letters name parameters.
    init(
        _ method: String, _ path: StaticString, _ access: Access = .operators, _ work: Work = .page,
        _ answer: @escaping @Sendable (PageCall) throws -> PageAnswer
    ) {
        self.method = method
        parts = "\(path)".split(separator: "/").map { part in
            part.allSatisfy(\.isUppercase) ? .parameter(String(part)) : .word(String(part))
        }
        self.access = access
        self.work = work
        self.answer = answer
    }

    /// As metrics name it.
    var name: String {
        "/"
            + parts.map { part in
                switch part {
                case .word(let text), .parameter(let text): text
                }
            }.joined(separator: "/")
    }

    /// The parameters of a path behind `/console`, decoded; nil: it is another route's.
    func parameters(of segments: [String]) -> [String: String]? {
        guard segments.count == parts.count else { return nil }
        var found: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            switch part {
            case .word(let word): guard word == segment else { return nil }
            case .parameter(let name):
                guard !segment.isEmpty else { return nil }
                found[name] = segment
            }
        }
        return found
    }

    /// The decoded segments of a path behind `/console`; nil for paths that are none of the console's.
    static func segments(of path: String) -> [String]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.first == "console" else { return nil }
        var decoded: [String] = []
        for part in parts.dropFirst() {
            guard let text = PercentEncoding.decode(part), !text.utf8.contains(0) else { return nil }
            decoded.append(text)
        }
        return decoded.last == "" ? decoded.dropLast() : decoded
    }
}

/// Paths of the console.
enum ConsolePath {
    static let home = LocalPath("console")
    static let login = LocalPath("console", "login")
    static let logout = LocalPath("console", "logout")
    static let me = LocalPath("console", "me")
    static let password = LocalPath("console", "me", "password")
    static let otherSessions = LocalPath("console", "me", "sessions")
    static let zone = LocalPath("console", "me", "zone")
    static let search = LocalPath("console", "search")

    /// What is read of a browser's path: bytes, and parameters.
    private static let longest = 2048
    private static let mostItems = 50

    static func link(_ token: String) -> LocalPath { LocalPath("console", "link", token) }

    /// A path of the console that a browser gave back, read anew; nil for everything else.
    static func reading(_ text: String) -> LocalPath? {
        guard text.utf8.count <= longest, text.utf8.count(where: { $0 == UInt8(ascii: "&") }) < mostItems else {
            return nil
        }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let segments = ConsoleRoute.segments(of: parts.first.map(String.init) ?? "") else { return nil }
        var path = home
        for segment in segments { path = path.appending(segment) }
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(sides[0]),
                let value = PercentEncoding.decode(
                    (sides.count > 1 ? sides[1] : "").map { $0 == "+" ? "%20" : String($0) }.joined())
            else { return nil }
            path = path.with(name, value)
        }
        return path
    }
}

/// The entries of the navigation.
enum ConsoleSection: String, Sendable, CaseIterable {
    case overview, customers, purchases, events, deliveries, endpoints, notifications, outages, refunds, products, jobs
    case charts, audit, settings

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var path: LocalPath { self == .overview ? ConsolePath.home : ConsolePath.home.appending(rawValue) }

    /// The part of the desk that it shows.
    var desk: DeskSection {
        switch self {
        case .overview: .overview
        case .customers: .customers
        case .events: .events
        case .deliveries: .deliveries
        case .endpoints: .endpoints
        case .notifications: .notifications
        case .charts: .charts
        case .audit: .audit
        case .purchases: .purchases
        case .outages: .outages
        case .refunds: .refunds
        case .products: .products
        case .jobs: .jobs
        case .settings: .doctor
        }
    }
}

extension ConsolePath {
    static func customer(_ id: String) -> LocalPath { LocalPath("console", "customers", id) }
    static func notes(_ id: String) -> LocalPath { customer(id).appending("notes") }
    static func event(_ id: String) -> LocalPath { LocalPath("console", "events", id) }
    static func delivery(_ id: String) -> LocalPath { LocalPath("console", "deliveries", id) }
    static func endpoint(_ id: String) -> LocalPath { LocalPath("console", "endpoints", id) }

    static func notification(app: String, environment: StoreEnvironment, uuid: String) -> LocalPath {
        LocalPath("console", "notifications", app, environment.rawValue, uuid)
    }

    static func job(_ number: Int64) -> LocalPath { LocalPath("console", "jobs", String(number)) }
    static func outage(_ number: Int64) -> LocalPath { LocalPath("console", "outages", String(number)) }

    static func purchase(_ key: PurchaseKey) -> LocalPath {
        LocalPath("console", "purchases", key.app, key.environment.rawValue, key.originalTransactionID)
    }

    /// Where more of a part of the desk is shown; nil: there is no page.
    static func section(_ section: DeskSection, id: String? = nil) -> LocalPath? {
        // Workers stand on the page of the doctor.
        let desk = section == .workers ? .doctor : section
        guard let page = ConsoleSection.allCases.first(where: { $0.desk == desk }) else { return nil }
        return id.map { page.path.appending($0) } ?? page.path
    }
}
