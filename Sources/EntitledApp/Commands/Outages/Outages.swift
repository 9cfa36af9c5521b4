import Base
import CLI

/// The gaps of the last 45 days in which no notification could be stored, numbered from the newest.
enum Outages {
    static func history(_ outage: JSON) -> [JSON] { outage["history"]?.arrayValue ?? [] }

    static func duration(_ outage: JSON) -> String {
        outage["seconds"]?.intValue.map { RelativeTime.text($0.multipliedReportingOverflow(by: 1000).partialValue) }
            ?? ""
    }

    /// Which apps' history of that time was scanned.
    static func coverage(_ outage: JSON) -> String {
        let open = history(outage).filter { $0["is_covered"]?.boolValue != true }
        guard !open.isEmpty else { return history(outage).isEmpty ? "no app" : "scanned" }
        return "not yet for " + open.map { "\($0.cell("app")) \($0.cell("environment"))" }.joined(separator: ", ")
    }
}
