/// The two environments of the App Store whose data is ever accepted.
package enum StoreEnvironment: String, Sendable, CaseIterable, Comparable {
    case production = "Production"
    case sandbox = "Sandbox"

    /// As the database keeps it.
    package var code: Int16 { self == .production ? 0 : 1 }

    package init?(code: Int16) {
        switch code {
        case 0: self = .production
        case 1: self = .sandbox
        default: return nil
        }
    }

    package static func < (a: StoreEnvironment, b: StoreEnvironment) -> Bool { a.code < b.code }
}
