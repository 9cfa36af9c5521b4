import Base
import CLI
import Daemon

/// Finds names that no key has, and objects that are none.
struct KnownNames {
    private(set) var mistakes: [ConfigurationMistake] = []

    /// `section` is a path of the list of keys (`apps[]`), `place` where it was found (`apps[0]`).
    mutating func check(_ json: JSON, section: String, place: String, variable: String?) {
        let names = ConfigurationKeys.names(in: section)
        guard let members = json.members else {
            if json != .null || section.isEmpty || section.hasSuffix("[]") {
                add(place, variable, json.shown, "an object with: \(names.joined(separator: ", "))")
            }
            return
        }
        for member in members {
            let pattern = section.isEmpty ? member.name : "\(section).\(member.name)"
            let inner = place.isEmpty ? member.name : "\(place).\(member.name)"
            if ConfigurationKeys.entry(pattern) != nil {
                continue
            } else if ConfigurationKeys.sections[pattern] != nil {
                check(member.value, section: pattern, place: inner, variable: variable)
            } else if ConfigurationKeys.sections[pattern + "[]"] != nil {
                check(list: member.value, pattern: pattern + "[]", place: inner, variable: variable)
            } else {
                add(
                    inner, variable, "a key that is not known", "one of: \(names.joined(separator: ", "))",
                    suggestion: suggestion(member.name, section, names))
            }
        }
    }

    mutating func check(list json: JSON, pattern: String, place: String, variable: String?) {
        guard json != .null else { return }
        guard let elements = json.arrayValue else {
            add(place, variable, json.shown, "a list of objects")
            return
        }
        for (index, element) in elements.enumerated() {
            check(element, section: pattern, place: "\(place)[\(index)]", variable: variable)
        }
    }

    private mutating func add(
        _ place: String, _ variable: String?, _ found: String, _ allowed: String, suggestion: String? = nil
    ) {
        let key = place.isEmpty ? "the configuration" : Terminal.harmless(place)
        mistakes.append(
            ConfigurationMistake(key: key, variable: variable, found: found, allowed: allowed, suggestion: suggestion))
    }

    /// A neighbour of nearly that name, else the same name in another section.
    private func suggestion(_ name: String, _ section: String, _ names: [String]) -> String? {
        if let near = Suggestion.closest(to: name, in: names) {
            return section.isEmpty ? near : "\(section).\(near)"
        }
        return ConfigurationKeys.all.first { $0.name == name && $0.section != section }?.path
    }
}
