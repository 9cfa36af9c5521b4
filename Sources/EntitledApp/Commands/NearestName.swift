import CLI
import Daemon

/// The name that was probably meant, for messages about a name that is not found.
enum NearestName {
    /// ` (did you mean anna?)`, or nothing.
    ///
    /// Names whose digits differ are different things, and not a slip: user-42 is never suggested for user-43.
    static func hint(for name: String, among known: some Sequence<String>) -> String {
        let digits = name.filter(\.isNumber)
        let candidates = known.filter { $0 != name && $0.filter(\.isNumber) == digits }
        return Suggestion.closest(to: name, in: candidates).map { " (did you mean \($0)?)" } ?? ""
    }

    /// The same for ids made of hexadecimal digits, where a slip is one or two characters.
    static func hint(forID id: String, among known: some Sequence<String>) -> String {
        let distances = known.filter { $0 != id }.map { ($0, Suggestion.distance(id, $0)) }
        guard let nearest = distances.min(by: { $0.1 < $1.1 }), nearest.1 <= 2 else { return "" }
        return " (did you mean \(nearest.0)?)"
    }
}

extension Configuration {
    /// The configured app with an id that `--app` gave.
    func app(named id: String) throws(UsageError) -> App {
        guard let app = apps.first(where: { $0.id == id }) else {
            let known = apps.map(\.id)
            let hint = NearestName.hint(for: id, among: known)
            throw UsageError(
                "--app: no app '\(Terminal.harmless(id))' is configured\(hint); configured:"
                    + " \(known.joined(separator: ", "))"
            )
        }
        return app
    }
}
