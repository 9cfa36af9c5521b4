import Accounts
import Base
import Database
import HTTP
import Markup
import Operator

/// What is around every page: the navigation, the search, the operator's menu, and the foot.
enum PageFrame {
    static func document(_ page: Page, _ call: PageCall) -> Node {
        document(page.title, refresh: page.refresh) {
            if let viewer = call.viewer {
                Tag.a(.classes(.skip), .href(place: .main)) { "Skip to the content" }
                bar(viewer, page, call)
                Tag.main(.id(.main), .classes(.content)) { page.content }
                foot(page, call)
            } else {
                Tag.main(.id(.main), .classes(.narrow)) { page.content }
            }
        }
    }

    /// A page that needs no connection and no session.
    static func plain(_ title: String, @MarkupBuilder content: () -> [Node]) -> Node {
        document(title) { Tag.main(.id(.main), .classes(.narrow), content: content) }
    }

    /// Loads itself again, once: the next request is of this site, and has the cookie.
    static let again = Tag.html(.lang("en")) {
        Tag.head {
            Tag.meta(.utf8)
            Tag.title { "entitled" }
            Tag.meta(.refresh, .seconds(0))
        }
        Tag.body {}
    }

    private static func document(
        _ title: String, refresh: Int? = nil, @MarkupBuilder body: () -> [Node]
    ) -> Node {
        Tag.html(.lang("en")) {
            Tag.head {
                Tag.meta(.utf8)
                Tag.title { Node.shown("\(title) · entitled") }
                Tag.meta(.metaName("viewport"), .content("width=device-width, initial-scale=1"))
                Tag.meta(.metaName("color-scheme"), .content("light dark"))
                Tag.meta(.metaName("robots"), .content("noindex"))
                if let refresh { Tag.meta(.refresh, .seconds(refresh)) }
                Tag.link(.stylesheet, .href(StyleSheet.path))
            }
            Tag.body(content: body)
        }
    }

    private static func bar(_ viewer: PageViewer, _ page: Page, _ call: PageCall) -> Node {
        Tag.header(.classes(.bar)) {
            Tag.a(.classes(.brand), .href(ConsolePath.home)) { "entitled" }
            Tag.nav(.classes(.menu), .spoken("Pages")) {
                Tag.ul {
                    for section in ConsoleSection.allCases where call.sees(section.desk) {
                        Tag.li {
                            Tag.a(
                                .href(EnvironmentSwitch.carried(section.path, call)),
                                section == page.section ? .current : nil
                            ) { section.title }
                        }
                    }
                }
            }
            EnvironmentSwitch.node(page, call)
            if call.sees(.search) { find(call) }
            account(viewer, call)
        }
    }

    private static func find(_ call: PageCall) -> Node {
        Tag.form(.classes(.find), .get, .action(ConsolePath.search), .role(.search)) {
            Tag.input(
                .id(.query), .name("q"), .type(.search), .placeholder("Any id"), .spoken("Search for any id"),
                .value(call.request.head.path == ConsolePath.search.text ? call.query["q"] ?? "" : ""), .unspelled,
                .uncapitalised, .autocomplete(.off), .shortcut("s"), .maxLength(1024))
            Tag.button(.type(.submit)) { "Search" }
        }
    }

    private static func account(_ viewer: PageViewer, _ call: PageCall) -> Node {
        Tag.details(.classes(.account)) {
            Tag.summary { Node.untrusted(viewer.name) }
            Tag.div {
                Tag.p(.classes(.quiet)) { "Role: \(viewer.role.rawValue)" }
                Tag.a(.href(ConsolePath.me)) { "Sessions and password" }
                Tag.form(.post, .action(ConsolePath.logout)) {
                    call.token(for: ConsolePath.logout)
                    Tag.button(.type(.submit)) { "Log out" }
                }
            }
        }
    }

    private static func foot(_ page: Page, _ call: PageCall) -> Node {
        Tag.footer(.classes(.foot)) {
            Tag.span { "entitled \(Version.current)" }
            Tag.span { call.clock.absolute(call.clock.now) }
            if !call.settings.address.isSecure {
                Tag.span { "Without TLS: reachable from this host only" }
            }
            if let command = page.command {
                Tag.details {
                    Tag.summary { "As command" }
                    Node.lines("entitled " + command, spoken: "Command")
                }
            }
            if let api = page.api {
                Tag.details {
                    Tag.summary { "As API call" }
                    Node.lines(
                        "curl -H \"Authorization: Bearer $ENTITLED_KEY\" '\(call.origin)\(api.text)'",
                        spoken: "API call")
                }
            }
        }
    }
}
