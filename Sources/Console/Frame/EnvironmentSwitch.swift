import Base
import HTTP
import Markup
import Operator

/// Which environment pages show: `env` of the URL and nothing else says it, and the links of the frame carry it on.
enum EnvironmentSwitch {
    static let name = "env"

    /// Lists that the API can be asked for by environment.
    private static let lists: Set<String> = ["events", "notifications", "purchases"]

    static func isTaken(by list: String) -> Bool { lists.contains(list) }

    /// The path, of the environment that this page shows.
    static func carried(_ path: LocalPath, _ call: PageCall) -> LocalPath {
        path.with(name, call.environment?.rawValue)
    }

    /// The same page, of one environment or of both; a page that shows no environment has none.
    static func node(_ page: Page, _ call: PageCall) -> Node {
        guard page.hasEnvironment, page.status == 200,
            let path = ConsolePath.reading(call.request.head.target)?.with("environment", nil).with("after", nil)
        else { return .none }
        return Tag.p(.classes(.switcher), .role(.group), .spoken("Environment")) {
            Tag.a(.href(path.with(name, nil)), call.environment == nil ? .current : nil) { "All" }
            for environment in [StoreEnvironment.production, .sandbox] {
                Tag.a(
                    .href(path.with(name, environment.rawValue)), call.environment == environment ? .current : nil
                ) { environment.rawValue }
            }
        }
    }
}

extension PageCall {
    /// The environment that the page shows; nil: both.
    var environment: StoreEnvironment? {
        (query[EnvironmentSwitch.name] ?? query["environment"]).flatMap(StoreEnvironment.init(rawValue:))
    }

    /// The query as the desk's list takes it.
    ///
    /// - Throws: `DeskError` where the environment is none.
    func listQuery(of list: String) throws(DeskError) -> String? {
        guard let chosen = query[EnvironmentSwitch.name], !chosen.isEmpty else { return withoutEnvironment }
        guard StoreEnvironment(rawValue: chosen) != nil else {
            throw DeskParameters.notOneOf(StoreEnvironment.allCases.map(\.rawValue), chosen, EnvironmentSwitch.name)
        }
        guard EnvironmentSwitch.isTaken(by: list) else { return withoutEnvironment }
        return [withoutEnvironment, "environment=\(chosen)"].compactMap(\.self).joined(separator: "&")
    }

    private var withoutEnvironment: String? {
        guard let query = request.head.query else { return nil }
        let rest = query.split(separator: "&").filter { pair in
            pair != EnvironmentSwitch.name[...] && !pair.hasPrefix("\(EnvironmentSwitch.name)=")
        }
        return rest.isEmpty ? nil : rest.joined(separator: "&")
    }
}
