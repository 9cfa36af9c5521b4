import Base

/// What a check has to say: a line of the doctor's report.
package struct Finding: Sendable, Equatable {
    package enum Status: String, Sendable {
        case ok, warning, error
    }

    package let status: Status
    package let message: String
    /// What to do; nil where nothing is.
    package let action: String?

    package static func ok(_ message: String) -> Finding { Finding(status: .ok, message: message, action: nil) }

    package static func warning(_ message: String, _ action: String?) -> Finding {
        Finding(status: .warning, message: message, action: action)
    }

    package static func error(_ message: String, _ action: String?) -> Finding {
        Finding(status: .error, message: message, action: action)
    }
}

/// A finding, and which check it is from: `database.settings`; the section is what stands before the dot.
package struct NamedFinding: Sendable, Equatable {
    package let name: String
    package let finding: Finding

    package init(name: String, finding: Finding) {
        self.name = name
        self.finding = finding
    }

    var section: String { String(name.prefix { $0 != "." }) }

    var document: JSON {
        .object([
            "name": .string(name), "status": .string(finding.status.rawValue), "message": .string(finding.message),
            "action": .text(finding.action),
        ])
    }
}
