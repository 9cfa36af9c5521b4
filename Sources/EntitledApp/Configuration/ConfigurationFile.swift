import Base
import CLI
import Daemon

/// Which file the configuration is in, and what it says.
package enum ConfigurationFile {
    package static let variable = "ENTITLED_CONFIG"
    package static let standardPath = "/etc/entitled/entitled.json5"

    /// The file in force: the one given, else the environment's, else the standard one if it exists, else none.
    static func locate(
        _ given: String?, _ surroundings: ConfigurationContext
    ) -> (path: String, source: String, isRequired: Bool) {
        if let given { return (surroundings.resolve(given), "--config", true) }
        if let named = surroundings.environment[variable], !named.isEmpty {
            return (surroundings.resolve(named), variable, true)
        }
        return (standardPath, standardPath, false)
    }

    /// Its content, and its path; an empty object and nil where there is no file and none was asked for.
    static func document(
        _ given: String?, _ surroundings: ConfigurationContext
    ) throws(ConfigurationMistakes) -> (document: JSON, path: String?) {
        let (path, source, isRequired) = locate(given, surroundings)
        let reading = surroundings.readFile(path)
        if reading == .missing && !isRequired { return (.object([JSON.Member]()), nil) }
        guard case .contents(let bytes) = reading else {
            throw mistake(source, "\(JSON.string(path).shown) (\(reading.failure ?? ""))", "the path of a JSON5 file")
        }
        let faults = JSON5Diagnostics.find(in: String(decoding: bytes, as: UTF8.self))
        if case .success(let duplicates) = faults, !duplicates.isEmpty {
            throw ConfigurationMistakes(
                all: duplicates.map { duplicate in
                    ConfigurationMistake(
                        key: Terminal.harmless(duplicate.path),
                        found: "the same key again in line \(duplicate.line)",
                        allowed: "each key only once")
                })
        }
        do {
            return (try JSON(parsing: bytes, json5: true), path)
        } catch {
            let found = "a text that is not JSON5\(reason(faults, error))"
            throw mistake(path, found, "one JSON5 object (https://json5.org)")
        }
    }

    private static func mistake(_ key: String, _ found: String, _ allowed: String) -> ConfigurationMistakes {
        ConfigurationMistakes(all: [ConfigurationMistake(key: Terminal.harmless(key), found: found, allowed: allowed)])
    }

    /// Where and why it is none, without showing the text.
    private static func reason(
        _ faults: Result<[JSON5Diagnostics.Duplicate], JSON5Diagnostics.Fault>, _ error: any Error
    )
        -> String
    {
        if case .failure(let fault) = faults {
            return " (line \(fault.line), column \(fault.column): \(fault.message))"
        }
        guard case DecodingError.typeMismatch(_, let context) = error else { return "" }
        return
            " (\(Terminal.harmless(context.codingPath.map(\.stringValue).joined(separator: "."))): a number too large)"
    }
}

extension Configuration {
    /// The configuration of this process: defaults, then the file, then the environment. Throws all mistakes at once.
    package static func load(
        file: String?, _ surroundings: ConfigurationContext
    ) throws(ConfigurationMistakes) -> Configuration {
        try parse(try ConfigurationFile.document(file, surroundings).document, surroundings)
    }
}
