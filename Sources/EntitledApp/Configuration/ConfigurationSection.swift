import Base
import Daemon

/// An object of the configuration, from which settings read their values.
///
/// Reading a key declares it: `ConfigurationKeys` reads all settings from a section that holds nothing, and lists what they
/// asked for. So the keys of a section are always read in the same order, whatever the values are.
struct ConfigurationSection {
    let reader: ConfigurationReader
    /// nil: the document has no such object.
    let members: JSON?
    /// Where it is in the document, such as `apps[0].server_api`; empty for the document itself.
    let place: String
    /// Where it is in the list of keys, such as `apps[].server_api`.
    let pattern: String

    var context: ConfigurationContext { reader.context }

    /// The value of a key, or its default where it is not set or not allowed, which is a mistake then.
    ///
    /// - Parameters:
    ///   - example: a value in JSON5, for the example file: of keys without a default, and of maps.
    ///   - comment: whole sentences, which help, JSON Schema and the example file show.
    func value<Value>(
        _ name: String, _ format: ValueFormat<Value>, default fallback: Value, example: String? = nil,
        isSecret: Bool = false, _ comment: String
    ) -> Value {
        let entry = ConfigurationEntry(
            path: path(of: name), allowed: format.allowed, fallback: format.write(fallback), example: example,
            isSecret: isSecret, comment: comment, schema: format.schema, fromText: format.fromText)
        return reader.value(entry, format, in: self) ?? fallback
    }

    /// The value of a key that has to be set.
    ///
    /// - Parameter placeholder: stands for the value where there is a mistake, and is never shown.
    func required<Value>(
        _ name: String, _ format: ValueFormat<Value>, placeholder: Value, example: String, _ comment: String
    ) -> Value {
        let entry = ConfigurationEntry(
            path: path(of: name), allowed: format.allowed, fallback: nil, example: example, isSecret: false,
            comment: comment, schema: format.schema, fromText: format.fromText)
        return reader.value(entry, format, in: self) ?? placeholder
    }

    /// The settings of a section inside this one, which has its defaults where the document has no such object.
    func section<Settings>(
        _ name: String, _ comment: String, _ read: (ConfigurationSection) -> Settings
    ) -> Settings {
        reader.declare(path(of: name), comment, .section)
        return read(inner(name))
    }

    /// The settings of a section that may be left out; nil where it is not there, or `null`.
    func optional<Settings>(
        _ name: String, _ comment: String, _ read: (ConfigurationSection) -> Settings
    ) -> Settings? {
        reader.declare(path(of: name), comment, .optional)
        let inner = inner(name)
        guard reader.isListing || (inner.members ?? .null) != .null else { return nil }
        return read(inner)
    }

    /// The settings of each object in a list. An element that is no object is left out: it was reported already.
    func list<Settings>(
        _ name: String, _ comment: String, _ read: (ConfigurationSection) -> Settings
    ) -> [Settings] {
        let pattern = path(of: name) + "[]"
        reader.declare(pattern, comment, .section)
        if reader.isListing {
            return [read(ConfigurationSection(reader: reader, members: nil, place: pattern, pattern: pattern))]
        }
        return (members?[name]?.arrayValue ?? []).enumerated().filter { $1.members != nil }.map { index, element in
            read(
                ConfigurationSection(
                    reader: reader, members: element, place: "\(place(of: name))[\(index)]", pattern: pattern))
        }
    }

    func place(of name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }

    private func path(of name: String) -> String { pattern.isEmpty ? name : "\(pattern).\(name)" }

    private func inner(_ name: String) -> ConfigurationSection {
        ConfigurationSection(
            reader: reader, members: members?[name], place: place(of: name), pattern: path(of: name))
    }
}
