import Base
import Daemon

/// Reads values out of a document and collects all that is wrong with them.
struct ConfigurationReader {
    /// An object of the document, or its absence.
    struct Section {
        let members: JSON?
        /// Dotted, with indices; empty for the document.
        let place: String

        func place(of name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }
    }

    let surroundings: ConfigurationContext
    private let document: JSON
    /// By key: the environment variable that set it.
    private let variables: [String: String]
    private(set) var mistakes: [ConfigurationMistake]
    private(set) var settings: [EffectiveSetting] = []

    /// `document` is what the file says. The environment is laid over it here.
    init(document: JSON, surroundings: ConfigurationContext) {
        self.surroundings = surroundings
        var names = KnownNames()
        names.check(document, section: "", place: "", variable: nil)
        let overlay = EnvironmentOverlay(over: document, surroundings)
        if let variable = overlay.variables["apps"], let apps = overlay.document["apps"] {
            names.check(list: apps, pattern: "apps[]", place: "apps", variable: variable)
        }
        self.document = overlay.document
        variables = overlay.variables
        mistakes = names.mistakes + overlay.mistakes
    }

    /// The section of this name, or an empty one.
    func section(_ name: String, in parent: Section? = nil) -> Section {
        let parent = parent ?? Section(members: document, place: "")
        return Section(members: parent.members?[name], place: parent.place(of: name))
    }

    /// Whether the section is there, and not `null`.
    func has(_ name: String, in parent: Section) -> Bool {
        (parent.members?[name] ?? .null) != .null
    }

    /// The objects in a list; what is none is not among them, as it was reported already.
    func sections(_ name: String) -> [Section] {
        (document[name]?.arrayValue ?? []).enumerated().filter { $1.members != nil }
            .map { Section(members: $1, place: "\(name)[\($0)]") }
    }

    /// The value of a key, or its default where it is not set or does not do; then there is a mistake.
    mutating func value<Value>(
        _ key: ConfigurationKey<Value>, in section: Section? = nil, default other: JSON? = nil
    ) -> Value {
        let section = section ?? Section(members: document, place: "")
        let place = section.place(of: key.entry.name)
        let given = section.members?[key.entry.name] ?? .null
        let isSet = given != .null
        if !isSet && key.entry.isRequired {
            add(
                ConfigurationMistake(
                    key: place, variable: variable(of: place), found: "nothing", allowed: key.format.allowed))
            return key.fallback
        }
        let json = isSet ? given : other ?? key.entry.fallback ?? .null
        switch key.format.read(json, surroundings) {
        case .value(let value):
            note(key.entry, place, json, isSet ? variable(of: place).map { .variable($0) } ?? .file : .standard)
            return value
        case .flawed(let flaws):
            for flaw in flaws {
                add(
                    ConfigurationMistake(
                        key: place + flaw.place, variable: variable(of: place),
                        found: found(flaw.found, flaw.reason, key.entry), allowed: flaw.allowed))
            }
            return key.fallback
        }
    }

    mutating func add(_ mistake: ConfigurationMistake) {
        mistakes.append(mistake)
    }

    /// The environment variable that a place was set by, if it was.
    func variable(of place: String) -> String? {
        variables[place] ?? variables[String(place.prefix { $0 != "[" })]
    }

    private func found(_ json: JSON, _ reason: String?, _ entry: ConfigurationEntry) -> String {
        let shown = entry.isSecret ? json.kind : json.shown
        return reason.map { "\(shown) (\($0))" } ?? shown
    }

    private mutating func note(
        _ entry: ConfigurationEntry, _ place: String, _ json: JSON, _ origin: EffectiveSetting.Origin
    ) {
        let isEmpty = json == .null || json == .array([])
        settings.append(
            EffectiveSetting(
                key: place, value: entry.isSecret && !isEmpty ? .string("[redacted]") : json, origin: origin))
    }
}
