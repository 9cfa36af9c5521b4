import Base
import Daemon

/// Every key of the configuration, in the order of the example file: those that `Configuration` reads.
package enum ConfigurationKeys {
    private static let listing: (entries: [ConfigurationEntry], sections: [String: ConfigurationReader.SectionEntry]) =
        {
            let reader = ConfigurationReader()
            _ = Configuration(reader.root)
            return (reader.entries, reader.sections)
        }()

    package static var all: [ConfigurationEntry] { listing.entries }

    /// Objects with known keys by their path, with `apps[]` for the elements of a list.
    static var sections: [String: ConfigurationReader.SectionEntry] { listing.sections }

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })

    static func entry(_ path: String) -> ConfigurationEntry? { byPath[path] }

    /// The names of what a section may contain, in the order of the list.
    static func names(in section: String) -> [String] {
        let prefix = section.isEmpty ? "" : section + "."
        var names: [String] = []
        for entry in all where entry.path.hasPrefix(prefix) {
            let name = String(entry.path.dropFirst(prefix.count).prefix { $0 != "." && $0 != "[" })
            if !names.contains(name) {
                names.append(name)
            }
        }
        return names
    }

    /// The file of `secrets_dir` that gives a secret key.
    static func secretFile(of key: String) -> String { key.replacing(".", with: "_") }

    /// The environment variable that sets the whole list of apps; the keys inside it have none.
    static let appsVariable = "ENTITLED_APPS"
    /// The environment variable that names a file with the list of apps: their keys are secret.
    static let appsFileVariable = "ENTITLED_APPS_FILE"
}
