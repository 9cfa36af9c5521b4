/// What looking a name up came to.
package enum Resolution: Sendable, Equatable {
    /// At least one; in the order in which they are to be tried (RFC 6724).
    case addresses([IPAddress])
    /// The name does not exist or has no address: the target's fault.
    case notFound
    /// The name's servers failed, or no answer came within the budget: another time may do.
    case temporarily
    /// This host cannot resolve now (no memory, no descriptors, too many names waiting): not the target's fault.
    case infrastructure(String)

    /// How metrics name it.
    var label: String {
        switch self {
        case .addresses: "found"
        case .notFound: "not_found"
        case .temporarily: "temporary"
        case .infrastructure: "infrastructure"
        }
    }
}
