import Markup

/// The first page.
struct OverviewPage: Sendable {
    var routes: [ConsoleRoute] { [ConsoleRoute("GET", "/") { call in .page(page(call)) }] }

    private func page(_ call: PageCall) -> Page {
        Page("Overview", section: .overview) {
            Tag.h1 { "Overview" }
        }
    }
}
