import Base
import Crypto
import Database

extension ConfigurationKeys {
    /// What a process takes from its start alone; a reload says that it needs a restart. Paths, or sections with a dot.
    static let ofStart = [
        "state_dir", "database.", "ingest.listen", "api.listen", "console.listen", "admin.", "trust.ocsp",
        "drain_timeout",
        "drain_delay", "telemetry.",
    ]

    /// What may differ between the hosts of one installation besides. Names of files do, too.
    private static let ofHost = ["log.", "secrets_dir"]

    static func needsRestart(_ key: String) -> Bool { ofStart.contains { isIn($0, key) } }

    /// Whether all hosts of an installation should have the same value.
    private static func isShared(_ setting: EffectiveSetting) -> Bool {
        !(ofStart + ofHost).contains { isIn($0, setting.key) } && !setting.key.hasSuffix("_file")
            && setting.value != EffectiveSetting.redacted
    }

    private static func isIn(_ section: String, _ key: String) -> Bool {
        section.hasSuffix(".") ? key.hasPrefix(section) : key == section || key.hasPrefix(section + ".")
    }

    /// A number that is equal where all hosts should have the same settings and do; secrets do not enter it.
    package static func digest(of configuration: Configuration) -> ConfigurationDigest {
        let lines = configuration.settings.filter(isShared).map { "\($0.key) \($0.value.text)\n" }.sorted().joined()
        // Of 48 bits, which a Double of Prometheus holds.
        return ConfigurationDigest(Digest.sha256(Array(lines.utf8)).prefix(6).reduce(0) { $0 << 8 | Int64($1) })
    }
}
