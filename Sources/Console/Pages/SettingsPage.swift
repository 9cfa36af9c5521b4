import Accounts
import Base
import Database
import HTTP
import Markup
import Operator

/// The installation: what the doctor finds, workers, users and keys, and the settings in force.
enum SettingsPage {
    static let routes = [ConsoleRoute("GET", "/settings") { call in .page(try page(call)) }]

    private static let mostRows = 50

    private static func page(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call, but: "defaults")
        let (findings, workers, accounts, settings) = try call.ask { desk in
            (try desk.findings(), try desk.workers(), try desk.accounts(), try desk.settingsInForce())
        }
        return Page(
            "Settings", section: .settings, command: "check-config --set\nentitled doctor\nentitled users list",
            api: LocalPath("operator", "v1", "doctor")
        ) {
            Tag.h1 { "Settings" }
            Tag.p(.classes(.lead)) {
                "Nothing is changed here: settings are those of the file and of variables, users and keys those of commands on the host."
            }
            Tag.h2 { "Findings" }
            if findings.items.isEmpty {
                Tag.div(.classes(.notice, .good), .role(.status)) { Tag.p { "Nothing needs an operator." } }
            } else {
                OverviewPage.findings(findings.items, call)
            }
            Tag.p(.classes(.lead)) {
                Tag.code { "entitled doctor" }
                " on the host checks more: files, Apple's access, rights."
            }
            work(workers, call)
            users(accounts, call)
            keys(accounts, call)
            inForce(settings, call)
        }
    }

    private static func work(_ answer: WorkersAnswer, _ call: PageCall) -> Node {
        let owned = answer.workers.reduce(0) { $0 + $1.lanes }
        return .group([
            Tag.h2 { "Workers" },
            answer.workers.isEmpty
                ? PageParts.empty("No worker is alive: notifications are stored, but not applied.")
                : PageParts.table(
                    "\(owned) of \(answer.lanes) lanes have a worker; this console is version \(Version.current)",
                    Array(answer.workers.prefix(mostRows)),
                    [
                        Column("Host", text: { $0.host }),
                        Column("Id") { row in .identifier(row.id, shown: 14) },
                        Column("Lanes", isNumber: true) { row in .text(String(row.lanes)) },
                        Column("Seen") { row in call.clock.time(row.seen) },
                    ]),
        ])
    }

    private static func users(_ accounts: AccountsAnswer, _ call: PageCall) -> Node {
        let live = accounts.sessions.filter {
            SessionTable.isLive($0, call.settings.limits, now: call.clock.now)
        }
        let sessions = Dictionary(grouping: live, by: \.user)
        let newest = live.sorted { $0.seen > $1.seen }
        return .group([
            Tag.h2 { "Users" },
            PageParts.table(
                "Who may log in; entitled users adds and removes them", Array(accounts.users.prefix(mostRows)),
                [
                    Column("Name", text: \.name), Column("Role", text: { $0.role.rawValue }),
                    Column("Logs in", text: { $0.hasPassword ? "by password" : "by link only" }),
                    Column("Sessions", isNumber: true) { user in .text(String(sessions[user.name]?.count ?? 0)) },
                    Column("Added") { user in call.clock.time(user.created) },
                ]),
            cut(accounts.users.count),
            PageParts.table(
                "Sessions; entitled users revoke ends those of a user", Array(newest.prefix(mostRows)),
                [
                    Column("User", text: \.user),
                    Column("Browser") { row in
                        Tag.span(.title(row.browser)) { Node.untrusted(Browser.name(row.browser)) }
                    },
                    Column("Address", text: \.address), Column("Since") { row in call.clock.time(row.started) },
                    Column("Last use") { row in call.clock.time(row.seen) },
                ]),
            cut(newest.count),
        ])
    }

    private static func keys(_ accounts: AccountsAnswer, _ call: PageCall) -> Node {
        .group([
            Tag.h2 { "Keys" },
            accounts.operatorKeys.isEmpty
                ? PageParts.empty("No operator has a key of the operator API: entitled users key NAME")
                : PageParts.table(
                    "Of the operator API", Array(accounts.operatorKeys.prefix(mostRows)),
                    [
                        Column("Key") { row in .identifier(row.hint + "…") }, Column("User", text: \.user),
                        Column("Role", text: { $0.role.rawValue }),
                        Column("Until") { row in row.until.map { call.clock.time($0) } ?? .text("no end") },
                        Column("Last use") { row in row.lastUsed.map { call.clock.time($0) } ?? .text("never") },
                        Column("Id") { row in .identifier(row.id) },
                    ]),
            cut(accounts.operatorKeys.count),
            accounts.apiKeys.isEmpty
                ? .none
                : PageParts.table(
                    "Of the REST API, beside those of the configuration", Array(accounts.apiKeys.prefix(mostRows)),
                    [
                        Column("Key") { row in .identifier(row.hint + "…") }, Column("Kind", text: { $0.kind }),
                        Column("Name", text: { $0.name }), Column("App", text: { $0.app ?? "all" }),
                        Column("Last use") { row in row.lastUsed.map { call.clock.time($0) } ?? .text("never") },
                        Column("Id") { row in .identifier(row.id) },
                    ]),
            cut(accounts.apiKeys.count),
        ])
    }

    private static func cut(_ count: Int) -> Node {
        count > mostRows ? Tag.p(.classes(.more)) { "The first \(mostRows) of \(count)." } : .none
    }

    private static func inForce(_ settings: [ShownSetting], _ call: PageCall) -> Node {
        let showsDefaults = call.query["defaults"] == "true"
        let shown = settings.filter { $0.isStandard == showsDefaults }
        return .group([
            Tag.h2 { showsDefaults ? "Settings by default" : "Settings that are set" },
            shown.isEmpty
                ? PageParts.empty("None.")
                : PageParts.table(
                    showsDefaults ? "What no file and no variable says" : "What the file and variables say",
                    Array(shown.prefix(200)),
                    [
                        Column("Key") { row in Tag.code { Node.untrusted(row.key) } },
                        Column("Value") { row in .untrusted(String(row.value.prefix(300))) },
                        Column("From") { row in showsDefaults ? .none : .untrusted(row.origin) },
                    ]),
            Tag.p(.classes(.more)) {
                showsDefaults
                    ? Node.link(to: ConsoleSection.settings.path) { "Those that are set" }
                    : Node.link(to: ConsoleSection.settings.path.with("defaults", "true")) { "Those by default" }
            },
        ])
    }
}
