import Accounts
import Base
import Daemon
import Database
import HTTP
import Markup
import Postgres

/// The way in: by password, by link; and out.
struct LoginPages: Sendable {
    private let login: Login
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics

    init(clock: any WallClock, logger: Logger, metrics: Metrics) {
        login = Login(clock: clock)
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        for outcome in ["done", "wrong", "wait"] { metrics.count(.consoleLogins, ["outcome": outcome], by: 0) }
    }

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute("GET", "/login", .everybody) { call in
                .page(call.settings.hasNoPasswords ? LoginPages.loggedOut : try form(call))
            },
            ConsoleRoute("POST", "/login", .everybody, .password, here(byPassword)),
            ConsoleRoute("GET", "/link/TOKEN", .everybody, .page, here(link)),
            ConsoleRoute("POST", "/link/TOKEN", .everybody, .page, here(byLink)),
            ConsoleRoute("POST", "/logout", .operators, .page, logout),
        ]
    }

    // MARK: - By a proxy

    /// - Parameter name: which a proxy has confirmed.
    /// - Returns: the cookie's value; nil: there is no such operator.
    func byProxy(_ name: String, _ client: Login.Client, on connection: PostgresConnection) throws -> Redacted<String>?
    {
        let outcome = try login.byProxy(name, client, on: connection)
        count(outcome)
        guard case .done(let cookie) = outcome else {
            logger.warning("operator login rejected", ["client.address": .string(client.text)])
            return nil
        }
        logger.notice("operator logged in", ["user": .string(name), "method": .string("proxy")])
        return cookie
    }

    /// The answer where operators log in at the console itself; without passwords it is refused.
    private func here(
        _ answer: @escaping @Sendable (PageCall) throws -> PageAnswer
    ) -> @Sendable (PageCall) throws -> PageAnswer {
        { call in call.settings.hasNoPasswords ? .page(LoginPages.noPasswords) : try answer(call) }
    }

    private static let noPasswords = Page("Log in", status: 403) {
        Tag.h1 { "The proxy logs you in" }
        Tag.p { "Passwords and log-in links are off here: console.proxy.passwords is false." }
        Tag.p { Node.link(to: ConsolePath.home) { "To the overview" } }
    }

    private static let loggedOut = Page("Logged out") {
        Tag.h1 { "You are logged out" }
        Tag.p {
            "The proxy in front of this console still knows you; log out there, too, where others use this browser."
        }
        Tag.p { Node.link(to: ConsolePath.home) { "Log in again" } }
    }

    // MARK: - By password

    private func form(
        _ call: PageCall, status: Int = 200, name: String = "", retryAfter: Int? = nil, problem: String? = nil
    ) throws -> Page {
        guard try !ConsoleUserTable.list(live: true, on: call.connection).isEmpty else { return LoginPages.noUser }
        let to = call.form["to"] ?? call.query["to"]
        return Page("Log in", status: status, retryAfter: retryAfter) {
            Tag.h1 { "Log in to entitled" }
            if let problem { LoginPages.alert(problem) }
            Tag.form(.classes(.form), .post, .action(ConsolePath.login)) {
                call.token(for: ConsolePath.login)
                if let to = to.flatMap(ConsolePath.reading) {
                    Tag.input(.type(.hidden), .name("to"), .value(to.text))
                }
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .name)) { "Name" }
                    Tag.input(
                        .id(.name), .name("name"), .type(.text), .value(name), .autocomplete(.username), .uncapitalised,
                        .unspelled, .required, .maxLength(ConsoleUserTable.nameLimit))
                }
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: .password)) { "Password" }
                    Tag.input(
                        .id(.password), .name("password"), .type(.password), .autocomplete(.currentPassword), .required,
                        .maxLength(PasswordHash.lengths.upperBound))
                }
                Tag.button(.type(.submit)) { "Log in" }
            }
            Tag.p(.classes(.quiet)) {
                "Without a password, ask an operator on the host for a log-in link: "
                Tag.code { "entitled users link NAME" }
            }
        }
    }

    private static let noUser = Page("Log in") {
        Tag.h1 { "There is no operator yet" }
        Tag.p { "Make the first operator on the host of entitled:" }
        Node.lines("entitled users add NAME --role operator\nentitled users link NAME", spoken: "Commands")
        Tag.p(.classes(.quiet)) { "The second command prints a link, which opens a session here." }
    }

    static func alert(_ text: String) -> Node {
        Tag.div(.classes(.notice, .bad), .role(.alert)) { Tag.p { text } }
    }

    private func byPassword(_ call: PageCall) throws -> PageAnswer {
        let name = call.form["name"] ?? ""
        let outcome = try login.byPassword(
            name, Redacted(call.form["password"] ?? ""), call.client, on: call.connection)
        count(outcome)
        switch outcome {
        case .done(let cookie):
            logger.notice("operator logged in", ["user": .string(name), "method": .string("password")])
            return .begin(cookie, then: call.form["to"].flatMap(ConsolePath.reading) ?? ConsolePath.home)
        case .wrong:
            logger.warning("operator login rejected", ["client.address": .string(call.client.text)])
            return .page(
                try form(call, status: 403, name: name, problem: "The name or the password is wrong. Try again."))
        case .wait(let time):
            let seconds = Int((time + 999) / 1000)
            return .page(
                try form(
                    call, status: 429, name: name, retryAfter: seconds,
                    problem: "Too many attempts failed. Wait \(seconds) s, then try again."))
        }
    }

    private func count(_ outcome: Login.Outcome) {
        metrics.count(.consoleLogins, ["outcome": outcome.name])
    }

    // MARK: - By link

    /// Uses nothing up: programs that look at links in mails ask for this page.
    private func link(_ call: PageCall) throws -> PageAnswer {
        let token = call.parameter("TOKEN")
        guard let user = try LoginLinkTable.user(of: token, now: clock.now(), on: call.connection) else {
            return .page(LoginPages.deadLink)
        }
        return .page(
            Page("Log in") {
                Tag.h1 { "Log in to entitled" }
                Tag.p {
                    "This link opens one session for "
                    Tag.strong { Node.untrusted(user) }
                    ". You can set a password afterwards."
                }
                Tag.form(.classes(.form), .post, .action(ConsolePath.link(token))) {
                    call.token(for: ConsolePath.link(token))
                    Tag.button(.type(.submit)) { "Log in" }
                }
            })
    }

    private static let deadLink = Page("Log in", status: 404) {
        Tag.h1 { "This link does not work" }
        Tag.p { "A log-in link works once, and for 15 minutes. Ask an operator on the host for a new one:" }
        Node.lines("entitled users link NAME", spoken: "Command")
        Tag.p { Node.link(to: ConsolePath.login) { "Log in with a password" } }
    }

    private func byLink(_ call: PageCall) throws -> PageAnswer {
        let token = call.parameter("TOKEN")
        let user = try LoginLinkTable.user(of: token, now: clock.now(), on: call.connection)
        let outcome = try login.byLink(token, call.client, on: call.connection)
        count(outcome)
        guard case .done(let cookie) = outcome else { return .page(LoginPages.deadLink) }
        logger.notice("operator logged in", ["user": .string(user ?? ""), "method": .string("link")])
        return .begin(cookie, then: ConsolePath.me)
    }

    private func logout(_ call: PageCall) throws -> PageAnswer {
        if let viewer = call.viewer {
            try SessionTable.end(viewer.session.id, of: viewer.name, now: clock.now(), on: call.connection)
        }
        return .end
    }
}
