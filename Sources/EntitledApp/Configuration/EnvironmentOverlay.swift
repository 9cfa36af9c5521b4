import Base
import CLI
import Daemon

/// The environment's values laid over those of the file.
struct EnvironmentOverlay {
    private(set) var document: JSON
    /// By key: the variable that set it.
    private(set) var variables: [String: String] = [:]
    private(set) var mistakes: [ConfigurationMistake] = []
    private let surroundings: ConfigurationContext

    init(over document: JSON, _ surroundings: ConfigurationContext) {
        self.document = document.members == nil ? .object([JSON.Member]()) : document
        self.surroundings = surroundings
        for entry in ConfigurationKeys.all {
            apply(entry)
        }
        applySecretFiles()
        applyApps()
        reportNearMisses()
    }

    /// An empty variable counts as not set: composing tools pass those on.
    private func value(_ variable: String) -> String? {
        surroundings.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    private mutating func apply(_ entry: ConfigurationEntry) {
        guard let variable = entry.variable else { return }
        let direct = value(variable)
        let file = entry.fileVariable.flatMap(value)
        if let direct {
            set(entry.path, entry.fromText(direct), variable)
        }
        guard let file, let fileVariable = entry.fileVariable else { return }
        guard direct == nil else {
            add(entry, fileVariable, "\(variable) as well", "one of the two")
            return
        }
        let reading = surroundings.readFile(surroundings.resolve(file))
        guard case .contents(let bytes) = reading else {
            add(
                entry, fileVariable, "\(JSON.string(file).shown) (\(reading.failure ?? ""))",
                "the path of a file with the value")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmed
        guard !text.isEmpty else {
            add(entry, fileVariable, "an empty file", entry.allowed)
            return
        }
        set(entry.path, entry.fromText(text), fileVariable)
    }

    /// What the directory of secrets says of keys that neither the file nor a variable sets.
    private mutating func applySecretFiles() {
        guard let folder = document["secrets_dir"]?.stringValue else { return }
        for entry in ConfigurationKeys.all where entry.fileVariable != nil {
            let parts = entry.path.split(separator: ".").map(String.init)
            // The example file has every list, empty ones too.
            guard [.null, .array([])].contains(parts.reduce(document, { $0[$1] ?? .null })) else { continue }
            let path = surroundings.resolve("\(folder)/\(ConfigurationKeys.secretFile(of: entry.path))")
            switch surroundings.readFile(path) {
            case .missing, .denied: continue
            case .failed(let reason): add(entry, path, reason, "a file with the value")
            case .contents(let bytes):
                let text = String(decoding: bytes, as: UTF8.self).trimmed
                guard !text.isEmpty else {
                    add(entry, path, "an empty file", entry.allowed)
                    continue
                }
                set(entry.path, entry.fromText(text), path)
            }
        }
    }

    private mutating func applyApps() {
        let (variable, fileVariable) = (ConfigurationKeys.appsVariable, ConfigurationKeys.appsFileVariable)
        if let text = value(variable) {
            let apps = try? JSON(parsing: Array(text.utf8), json5: true)
            set("apps", apps ?? .string(text), variable)
        }
        guard let file = value(fileVariable) else { return }
        func refuse(_ found: String, _ allowed: String) {
            mistakes.append(
                ConfigurationMistake(key: "apps", variable: fileVariable, found: found, allowed: allowed))
        }
        guard value(variable) == nil else { return refuse("\(variable) as well", "one of the two") }
        let reading = surroundings.readFile(surroundings.resolve(file))
        guard case .contents(let bytes) = reading, let apps = try? JSON(parsing: bytes, json5: true) else {
            return refuse(
                "\(JSON.string(file).shown) (\(reading.failure ?? "no JSON5 in it"))",
                "the path of a file with the list of apps")
        }
        set("apps", apps, fileVariable)
    }

    private mutating func set(_ path: String, _ value: JSON, _ variable: String) {
        document = document.replacing(path.split(separator: ".").map(String.init)[...], by: value)
        variables[path] = variable
    }

    private mutating func add(_ entry: ConfigurationEntry, _ variable: String, _ found: String, _ allowed: String) {
        mistakes.append(ConfigurationMistake(key: entry.path, variable: variable, found: found, allowed: allowed))
    }

    /// A variable that is nearly one of ours is a mistake; others with our prefix are not, because Kubernetes makes
    /// some (`ENTITLED_SERVICE_HOST`).
    private mutating func reportNearMisses() {
        var known = [
            ConfigurationKeys.appsVariable, ConfigurationKeys.appsFileVariable, ConfigurationFile.variable,
        ]
        known += ConfigurationKeys.all.flatMap { [$0.variable, $0.fileVariable].compactMap { $0 } }
        for name in surroundings.environment.keys.sorted() where name.hasPrefix("ENTITLED_") && !known.contains(name) {
            guard !RemoteOptions.variables.contains(name) else { continue }
            let near = known.map { ($0, Suggestion.distance(name, $0)) }.min { $0.1 < $1.1 }
            guard let near, near.1 <= 2 else { continue }
            mistakes.append(
                ConfigurationMistake(
                    key: Terminal.harmless(name), found: "an unknown environment variable",
                    allowed: "the variables that `entitled check-config --help` lists", suggestion: near.0))
        }
    }
}

extension JSON {
    /// The same value with the member at this path set; what is no object on the way becomes one.
    fileprivate func replacing(_ path: ArraySlice<String>, by value: JSON) -> JSON {
        guard let name = path.first else { return value }
        let inner = (self[name] ?? .null).replacing(path.dropFirst(), by: value)
        let others = (members ?? []).filter { $0.name != name }
        return .object(others + [Member(name: name, value: inner)])
    }
}
