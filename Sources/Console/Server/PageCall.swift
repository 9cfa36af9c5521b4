import Accounts
import Base
import Database
import HTTP
import Markup
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
    let settings: ConsoleSettings
    /// Of the console, as this browser reaches it.
    let origin: String
    let clock: PageClock
    let connection: PostgresConnection

    /// The browser, as sessions and limits know it.
    var client: Login.Client {
        let address = settings.proxies.client(request.head, peer: request.remoteAddress)
        return Login.Client(
            address: address?.ip ?? IPAddress(parsing: request.remoteAddress),
            browser: request.head.header("user-agent") ?? "")
    }

    /// The hidden field that a form of this page needs.
    func token(for path: LocalPath) -> Node {
        Tag.input(.type(.hidden), .name(FormToken.field), .value(FormToken.make(path, cookie: cookie)))
    }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// What a page comes to.
enum PageAnswer {
    case page(Page)
    /// 303 to another page.
    case redirect(LocalPath)
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
    /// The command line that tells the same, without `entitled`.
    var command: String?
    /// The question to the API that gives the same.
    var api: LocalPath?
    let content: [Node]

    init(
        _ title: String, status: Int = 200, section: ConsoleSection? = nil, retryAfter: Int? = nil,
        command: String? = nil, api: LocalPath? = nil, @MarkupBuilder content: () -> [Node]
    ) {
        self.title = title
        self.status = status
        self.section = section
        self.retryAfter = retryAfter
        self.command = command
        self.api = api
        self.content = content()
    }
}
