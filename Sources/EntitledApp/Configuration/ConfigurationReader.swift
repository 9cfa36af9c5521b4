import Base
import Crypto
import Daemon

/// Reads values out of a document and collects all that is wrong with them; or lists the keys that are read.
final class ConfigurationReader {
    /// How an object of the configuration is written.
    struct SectionEntry: Sendable {
        enum Kind: Sendable {
            case section
            /// May be left out, or `null`.
            case optional
        }

        let comment: String
        let kind: Kind
    }

    let context: ConfigurationContext
    /// Whether keys are listed, and no values read.
    let isListing: Bool
    private let document: JSON
    /// By key: the environment variable that set it.
    private let variables: [String: String]
    private(set) var mistakes: [ConfigurationMistake]
    private(set) var settings: [EffectiveSetting] = []
    /// SHA-256 of the value of every key, secrets included.
    private(set) var fingerprints: [String: [UInt8]] = [:]
    /// Of the keys that were asked for, in their order; kept where they are listed.
    private(set) var entries: [ConfigurationEntry] = []
    /// By path, with `apps[]` for the elements of a list; kept where keys are listed.
    private(set) var sections: [String: SectionEntry] = [:]

    /// `document` is the content of the file. The environment is laid over it here.
    init(document: JSON, context: ConfigurationContext) {
        self.context = context
        isListing = false
        var names = KnownNames()
        names.check(document, section: "", place: "", variable: nil)
        let overlay = EnvironmentOverlay(over: document, context)
        if let variable = overlay.variables["apps"], let apps = overlay.document["apps"] {
            names.check(list: apps, pattern: "apps[]", place: "apps", variable: variable)
        }
        self.document = overlay.document
        variables = overlay.variables
        mistakes = names.mistakes + overlay.mistakes
    }

    /// A reader that lists keys.
    init() {
        context = ConfigurationContext(
            environment: [:], workingDirectory: "/", isSuperuser: false, readFile: { _ in .missing })
        isListing = true
        document = .null
        (variables, mistakes) = ([:], [])
    }

    var root: ConfigurationSection {
        ConfigurationSection(reader: self, members: document, place: "", pattern: "")
    }

    func declare(_ path: String, _ comment: String, _ kind: SectionEntry.Kind) {
        if isListing { sections[path] = SectionEntry(comment: comment, kind: kind) }
    }

    /// The value of a key, or the default of its entry where it is not set; nil: the value is refused, or missing.
    func value<Value>(
        _ entry: ConfigurationEntry, _ format: ValueFormat<Value>, in section: ConfigurationSection
    ) -> Value? {
        guard !isListing else {
            entries.append(entry)
            return nil
        }
        let place = section.place(of: entry.name)
        let given = section.members?[entry.name] ?? .null
        let isSet = given != .null
        guard let json = isSet ? given : entry.fallback else {
            add(place, found: "nothing", allowed: format.allowed)
            return nil
        }
        switch format.read(json, context) {
        case .value(let value):
            note(entry, place, json, isSet ? variable(of: place).map { .variable($0) } ?? .file : .standard)
            return value
        case .flawed(let flaws):
            for flaw in flaws {
                mistakes.append(
                    ConfigurationMistake(
                        key: place + flaw.place, variable: variable(of: place),
                        found: found(flaw.found, flaw.reason, entry), allowed: flaw.allowed))
            }
            return nil
        }
    }

    /// Adds a mistake in the value at this place.
    func add(_ place: String, found: String, allowed: String) {
        mistakes.append(
            ConfigurationMistake(key: place, variable: variable(of: place), found: found, allowed: allowed))
    }

    /// The environment variable that a place was set by, if it was.
    private func variable(of place: String) -> String? {
        variables[place] ?? variables[String(place.prefix { $0 != "[" })]
    }

    private func found(_ json: JSON, _ reason: String?, _ entry: ConfigurationEntry) -> String {
        let shown = entry.isSecret ? json.kind : json.shown
        return reason.map { "\(shown) (\($0))" } ?? shown
    }

    private func note(
        _ entry: ConfigurationEntry, _ place: String, _ json: JSON, _ origin: EffectiveSetting.Origin
    ) {
        let isEmpty = json == .null || json == .array([])
        fingerprints[place] = Digest.sha256(json.bytes)
        settings.append(
            EffectiveSetting(
                key: place, value: entry.isSecret && !isEmpty ? EffectiveSetting.redacted : json, origin: origin))
    }
}
