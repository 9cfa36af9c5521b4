import Database

/// The operator whom a question is answered for.
package struct Viewer: Sendable, Equatable {
    package let user: String
    package let role: OperatorRole
    /// IANA name of the zone in which times are shown; nil: UTC.
    package let zone: String?

    package init(user: String, role: OperatorRole, zone: String? = nil) {
        self.user = user
        self.role = role
        self.zone = zone
    }

    package func may(_ section: DeskSection) -> Bool { section.roles.contains(role) }

    /// - Throws: `DeskError`, 403, where the role may not.
    package func check(_ section: DeskSection) throws(DeskError) {
        guard may(section) else { throw .forbidden(role, section) }
    }

    /// Whether ids of customers are shown, and what else tells persons apart.
    package var seesPersons: Bool { role == .operator || role == .support || role == .integrator }

    /// How much is shown of attributes and of the answers of consumers.
    package var personalData: PersonalDataView {
        switch role {
        case .operator: .whole
        case .support: .masked
        case .integrator, .finance, .read: .hidden
        }
    }
}

/// How much an operator sees of personal data.
package enum PersonalDataView: String, Sendable, CaseIterable {
    case whole
    /// The beginning, so that a caller can be recognised by what they say.
    case masked
    case hidden

    package static let mask = "••••"

    /// A value as it is shown.
    package func shown(_ value: String) -> String {
        switch self {
        case .whole: return value
        case .hidden: return PersonalDataView.mask
        case .masked:
            let domain = value.lastIndex(of: "@").map { value[$0...] } ?? ""
            // Of what names a person at most a third is shown.
            guard value.count - domain.count >= 6 else { return PersonalDataView.mask }
            return "\(value.prefix(2))\(PersonalDataView.mask)\(domain)"
        }
    }
}

/// A part of what operators see, with the roles that see it.
package enum DeskSection: String, Sendable, CaseIterable {
    case me, overview, search, customers, purchases, events, endpoints, deliveries, notifications, outages, refunds
    case jobs, products, actions, audit, doctor, workers, charts

    package var roles: Set<OperatorRole> {
        switch self {
        case .me, .overview, .audit: Set(OperatorRole.allCases)
        case .search: [.support, .integrator, .operator, .read]
        case .customers: [.support, .operator]
        case .purchases, .products, .notifications: [.support, .operator, .read]
        case .events, .deliveries: [.support, .integrator, .operator, .read]
        case .endpoints: [.integrator, .operator, .read]
        case .outages: [.operator, .read]
        case .refunds: [.support, .operator]
        case .charts: [.finance, .operator, .read]
        case .jobs, .actions, .doctor, .workers: [.operator]
        }
    }
}
