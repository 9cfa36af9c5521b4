/// The role of an operator: which questions are answered, and which changes are done.
package enum OperatorRole: String, Sendable, CaseIterable {
    case support, integrator, `operator`, finance, read

    /// Whether a user of this role may have a key of that one. Only an operator sees everything that another role sees.
    package func includes(_ other: OperatorRole) -> Bool { self == .operator || self == other }
}
