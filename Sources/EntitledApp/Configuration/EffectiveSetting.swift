import Base

/// One value in force, as `check-config` shows it.
package struct EffectiveSetting: Sendable, Equatable {
    package enum Origin: Sendable, Equatable {
        case standard, file
        case variable(String)

        package var text: String {
            switch self {
            case .standard: "default"
            case .file: "file"
            case .variable(let name): name
            }
        }
    }

    /// Stands for a secret.
    static let redacted = JSON.string("[redacted]")

    /// Dotted, with indices: `apps[0].bundle_id`.
    package let key: String
    /// As the file would say it; a text that hides it for secrets.
    package let value: JSON
    package let origin: Origin
}
