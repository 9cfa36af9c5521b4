import Accounts
import Base
import Daemon
import Database
import HTTP
import Markup

/// An operator's own sessions, password and time zone.
struct MePages: Sendable {
    private let login: Login
    private let clock: any WallClock
    private let logger: Logger

    init(clock: any WallClock, logger: Logger) {
        login = Login(clock: clock)
        self.clock = clock
        self.logger = logger
    }

    var routes: [ConsoleRoute] {
        [
            ConsoleRoute("GET", "/me") { call in .page(try page(call)) },
            ConsoleRoute("POST", "/me/password", .operators, .password, setPassword),
            ConsoleRoute("POST", "/me/zone", .operators, .page, setZone),
            ConsoleRoute("POST", "/me/sessions", .operators, .page, endOthers),
        ]
    }

    private func page(_ call: PageCall, status: Int = 200, problem: String? = nil) throws -> Page {
        guard let viewer = call.viewer else { return Page("Me") {} }
        let sessions = try SessionTable.list(of: viewer.name, on: call.connection)
        let user = try ConsoleUserTable.find(viewer.name, on: call.connection)
        return Page(
            "Me", status: status, command: "users sessions \(PageCall.argument(viewer.name))",
            api: LocalPath("operator", "v1", "me")
        ) {
            Tag.h1 { Node.untrusted(viewer.name) }
            Tag.p(.classes(.lead)) {
                "Role \(viewer.role.rawValue). Roles are given on the host alone, by `entitled users`."
            }
            if let problem { LoginPages.alert(problem) }
            Tag.div(.classes(.columns)) {
                Tag.section {
                    if call.settings.hasNoPasswords {
                        Tag.h2 { "Log-in" }
                        Tag.p { "The proxy in front of this console logs you in; there is no password here." }
                    } else {
                        Tag.h2 { user?.hasPassword == true ? "Change the password" : "Set a password" }
                        passwordForm(viewer, call)
                    }
                    Tag.h2 { "Time zone" }
                    zoneForm(viewer, call)
                }
                Tag.section {
                    Tag.h2 { "Sessions" }
                    sessionTable(sessions, viewer, call)
                }
            }
        }
    }

    private func passwordForm(_ viewer: PageViewer, _ call: PageCall) -> Node {
        Tag.form(.classes(.form), .post, .action(ConsolePath.password)) {
            call.token(for: ConsolePath.password)
            // So that password managers know whose it is.
            Tag.input(.type(.text), .unshown, .name("name"), .value(viewer.name), .autocomplete(.username))
            if !viewer.session.isByLink {
                field("Password now", .currentPassword, "current", .currentPassword)
            }
            field("New password", .password, "password", .newPassword)
            field("The same again", .passwordAgain, "again", .newPassword)
            Tag.p(.id(.hint), .classes(.quiet)) {
                "\(PasswordHash.lengths.lowerBound) to \(PasswordHash.lengths.upperBound) characters. All other sessions of yours end."
            }
            Tag.button(.type(.submit)) { "Set the password" }
        }
    }

    private func field(_ title: String, _ id: ElementID, _ name: String, _ completion: Autocompletion) -> Node {
        let isNew = completion == .newPassword
        return Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.input(
                .id(id), .name(name), .type(.password), .autocomplete(completion), .required,
                isNew ? .minLength(PasswordHash.lengths.lowerBound) : nil, .maxLength(PasswordHash.lengths.upperBound),
                isNew ? .describedBy(.hint) : nil)
        }
    }

    private func zoneForm(_ viewer: PageViewer, _ call: PageCall) -> Node {
        let chosen = viewer.zone.flatMap { TimeZoneName($0) } ?? .utc
        let zones = TimeZoneDatabase.names.filter { $0 != .utc }
        let others = chosen == .utc || zones.contains(chosen) ? [] : [chosen]
        return Tag.form(.classes(.form), .post, .action(ConsolePath.zone)) {
            call.token(for: ConsolePath.zone)
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .zone)) { "Zone" }
                Tag.select(.id(.zone), .name("zone"), .describedBy(.zoneHint)) {
                    for zone in [.utc] + others + zones {
                        Tag.option(zone == chosen ? .selected : nil) { zone.text }
                    }
                }
            }
            Tag.p(.id(.zoneHint), .classes(.quiet)) {
                "Pages show times as its clocks do. Filters, files and charts do not follow it: filters and files are in UTC, and days of charts begin in reports.time_zone."
            }
            Tag.button(.type(.submit)) { "Set the zone" }
        }
    }

    private func sessionTable(_ sessions: [ConsoleSession], _ viewer: PageViewer, _ call: PageCall) -> Node {
        let live = sessions.filter { SessionTable.isLive($0, call.settings.limits, now: call.clock.now) }
        return .group([
            Tag.div(.classes(.wide)) {
                Tag.table {
                    Tag.caption { "Browsers that you are logged in with" }
                    Tag.thead {
                        Tag.tr {
                            Tag.th(.scope(.column)) { "Browser" }
                            Tag.th(.scope(.column)) { "Address" }
                            Tag.th(.scope(.column)) { "Since" }
                            Tag.th(.scope(.column)) { "Last use" }
                        }
                    }
                    Tag.tbody {
                        for session in live {
                            Tag.tr {
                                Tag.td(.cellName("Browser")) {
                                    Tag.div {
                                        if session.id == viewer.session.id {
                                            Tag.span(.classes(.badge, .good)) { "this one" }
                                            " "
                                        }
                                        Tag.span(.title(session.browser)) {
                                            Node.untrusted(Browser.name(session.browser))
                                        }
                                    }
                                }
                                Tag.td(.cellName("Address")) { Tag.div { Node.untrusted(session.address) } }
                                Tag.td(.cellName("Since")) { Tag.div { call.clock.time(session.started) } }
                                Tag.td(.cellName("Last use")) { Tag.div { call.clock.time(session.seen) } }
                            }
                        }
                    }
                }
            },
            live.count > 1
                ? Tag.form(.classes(.more), .post, .action(ConsolePath.otherSessions)) {
                    call.token(for: ConsolePath.otherSessions)
                    Tag.button(.type(.submit)) { "End all other sessions" }
                } : .none,
        ])
    }

    private func setPassword(_ call: PageCall) throws -> PageAnswer {
        guard let viewer = call.viewer else { return .redirect(ConsolePath.login) }
        guard !call.settings.hasNoPasswords else { return .redirect(ConsolePath.me) }
        let password = call.form["password"] ?? ""
        guard password == call.form["again"] else {
            return .page(try page(call, status: 400, problem: "The two new passwords differ. Nothing was changed."))
        }
        let change = try login.setPassword(
            Redacted(password), current: call.form["current"].map { Redacted($0) }, of: viewer.session, call.client,
            on: call.connection)
        let problem: String
        switch change {
        case .done(let cookie):
            logger.notice("operator password set", ["user": .string(viewer.name)])
            return .begin(cookie, then: ConsolePath.me)
        case .tooShort: problem = "The new password has fewer than \(PasswordHash.lengths.lowerBound) characters."
        case .tooLong: problem = "The new password has more than \(PasswordHash.lengths.upperBound) characters."
        case .wrong: problem = "The password that you have now is another one. Nothing was changed."
        case .wait(let time): problem = "Too many attempts failed. Wait \((time + 999) / 1000) s, then try again."
        case .unavailable: problem = "There is not enough memory to hash the password. Try again."
        }
        return .page(try page(call, status: 400, problem: problem))
    }

    private func setZone(_ call: PageCall) throws -> PageAnswer {
        guard let viewer = call.viewer else { return .redirect(ConsolePath.login) }
        guard let zone = TimeZoneName(call.form["zone"] ?? ""), TimeZoneDatabase.zone(zone) != nil else {
            let problem = "This host knows no such time zone; Debian's package tzdata has them. Nothing was changed."
            return .page(try page(call, status: 400, problem: problem))
        }
        try PasswordTable.setZone(zone == .utc ? nil : zone.text, of: viewer.name, on: call.connection)
        return .redirect(ConsolePath.me)
    }

    private func endOthers(_ call: PageCall) throws -> PageAnswer {
        guard let viewer = call.viewer else { return .redirect(ConsolePath.login) }
        try SessionTable.end(
            nil, of: viewer.name, keeping: viewer.session.id, now: clock.now(), on: call.connection)
        return .redirect(ConsolePath.me)
    }
}

/// What a User-Agent says, in a word or two.
enum Browser {
    private static let names = [
        ("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]
    private static let systems = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Mac OS X", "macOS"), ("Windows", "Windows"),
        ("Linux", "Linux"),
    ]

    static func name(_ agent: String) -> String {
        guard let name = names.first(where: { agent.contains($0.0) })?.1 else {
            return agent.isEmpty ? "unknown" : String(agent.prefix(40))
        }
        guard let system = systems.first(where: { agent.contains($0.0) })?.1 else { return name }
        return "\(name) on \(system)"
    }
}
