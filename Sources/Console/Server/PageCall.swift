import Accounts
import Base
import Database
import HTTP
import Markup
import Operator
import Postgres

/// The operator who looks at a page.
struct PageViewer: Sendable, Equatable {
    let session: ConsoleSession
    let role: OperatorRole
    /// IANA name; nil: UTC.
    let zone: String?

    var name: String { session.user }
}

/// A request for a page at work, with a connection that no other request has meanwhile.
struct PageCall {
    let request: HTTPRequest
    /// Of the path, decoded.
    let parameters: [String: String]
    let query: Form
    /// Of a POST.
    let form: Form
    /// Nil on pages for everybody.
    let viewer: PageViewer?
    /// What forms of this page are tied to.
    let cookie: String
    let settings: PageSettings
    let desk: DeskSettings
    /// Of the console, as this browser reaches it.
    let origin: String
    let clock: PageClock
    let connection: PostgresConnection

    /// The browser, as sessions and limits know it.
    var client: Login.Client { settings.client(of: request) }

    /// The hidden field that a form of this page needs.
    func token(for path: LocalPath) -> Node {
        Tag.input(.type(.hidden), .name(FormToken.field), .value(FormToken.make(path, cookie: cookie)))
    }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// Who asks for a change, and from where.
    func asking(_ viewer: PageViewer) -> ChangeOrigin {
        let client = self.client
        return ChangeOrigin(
            user: viewer.name, credential: .session(viewer.session.id), address: client.address.map { "\($0)" } ?? "",
            userAgent: client.browser)
    }

    // MARK: - The desk

    /// Asks the desk as the viewer, within one snapshot of the database.
    ///
    /// - Throws: `DeskError`.
    func ask<Answer>(_ body: (DatabaseDesk) throws -> Answer) throws -> Answer {
        guard let viewer else { throw DeskError(401, "unauthorized", "No operator is logged in; log in again.") }
        return try DatabaseDesk.ask(
            desk, for: Viewer(user: viewer.name, role: viewer.role, zone: viewer.zone), now: clock.now, on: connection,
            body)
    }

    /// The question that the query asks.
    ///
    /// - Throws: `DeskError`.
    func question<Question: DeskQuestion>(_: Question.Type, of list: String) throws(DeskError) -> Question {
        var parameters = try DeskParameters(query: try listQuery(of: list), of: list)
        return try Question(&parameters, now: clock.now)
    }

    /// The list of this page with its filters, as a file; nil: the query asks for none.
    ///
    /// - Throws: `DeskError`.
    func export(_ list: String) throws -> PageAnswer? {
        guard query["format"] == "csv", let viewer else { return nil }
        let file = try OperatorRoute.export(
            "/\(list)", query: try listQuery(of: list) ?? "", for: asked(by: viewer), from: asking(viewer), desk,
            now: clock.now, on: connection)
        // What is cut says so by its name; the API leads to the rest.
        let part = file.next == nil ? "" : "-first-part"
        return .file("\(file.name)\(part).csv", type: DeskExport.contentType, Array(file.csv.utf8))
    }

    func sees(_ section: DeskSection) -> Bool { viewer.map { section.roles.contains($0.role) } ?? false }

    /// The question to the API that is as this page's: the path behind `/operator/v1` with the page's query.
    func api(_ segments: String...) -> LocalPath {
        var path = LocalPath("operator", "v1")
        for segment in segments { path = path.appending(segment) }
        let list = segments.first ?? ""
        for name in query.names.sorted() where query[name] != "" {
            guard name == EnvironmentSwitch.name else {
                path = path.with(name, query[name])
                continue
            }
            if segments.count == 1, EnvironmentSwitch.isTaken(by: list) { path = path.with("environment", query[name]) }
        }
        return path
    }

    /// `events list --type RENEWAL`, with the options that the page's query has.
    func command(_ words: String, _ options: [String: String]) -> String {
        options.sorted { $0.key < $1.key }.reduce(words) { text, option in
            let chosen = option.key == "environment" ? environment?.rawValue : nil
            guard let value = chosen ?? query[option.key], !value.isEmpty else { return text }
            // A flag has no value.
            guard value != "true" else { return text + " \(option.value)" }
            return text + " \(option.value) \(PageCall.quoted(value))"
        }
    }

    /// A word of a shell's command line that is no option.
    static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && text.utf8.first != UInt8(ascii: "-")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._@:+-/".utf8.contains(byte)
                }
            }
        guard !isPlain else { return text }
        // By scalars: a mark that combines with an apostrophe makes one character with it.
        let escaped = text.unicodeScalars.reduce(into: String.UnicodeScalarView()) { result, scalar in
            if scalar == "'" {
                result.append(contentsOf: "'\\''".unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return "'\(String(escaped))'"
    }

    /// The last argument of a command line, also where it begins like an option.
    static func argument(_ text: String) -> String { (text.hasPrefix("-") ? "-- " : "") + quoted(text) }
}

/// What a page comes to.
enum PageAnswer {
    case page(Page)
    /// To be kept by the browser under a name of letters, digits, points and dashes.
    case file(String, type: String, [UInt8])
    /// 303 to another page.
    case redirect(LocalPath)
    /// 303 to another page, once a worker has done a change or its caller has waited long enough.
    case after(Int64, then: LocalPath)
    /// 303 to another page, with a new cookie.
    case begin(Redacted<String>, then: LocalPath)
    /// 303 to the log-in, without the cookie.
    case end
}

/// What stands between the frame's top and its foot.
struct Page {
    var status = 200
    /// Of the document; the program's name follows it.
    let title: String
    /// The entry of the navigation that it belongs to.
    var section: ConsoleSection?
    /// After so many seconds the same may succeed.
    var retryAfter: Int?
    /// After so many seconds a browser loads it again.
    var refresh: Int?
    /// Whether it shows one environment, or both.
    var hasEnvironment: Bool
    /// The command line that tells the same, without `entitled`.
    var command: String?
    /// The question to the API that gives the same.
    var api: LocalPath?
    let content: [Node]

    init(
        _ title: String, status: Int = 200, section: ConsoleSection? = nil, retryAfter: Int? = nil,
        refresh: Int? = nil, hasEnvironment: Bool = false, command: String? = nil, api: LocalPath? = nil,
        @MarkupBuilder content: () -> [Node]
    ) {
        self.title = title
        self.status = status
        self.section = section
        self.retryAfter = retryAfter
        self.refresh = refresh
        self.hasEnvironment = hasEnvironment
        self.command = command
        self.api = api
        self.content = content()
    }
}
