/// What a key may do.
package enum APIScope: String, Sendable, CaseIterable {
    case read
    /// Reading as well.
    case write
}

/// Who calls: an app by a public key, a backend by a secret one.
package struct APIKey: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case `public`
        case secret
    }

    /// Of a key of the database; nil for those of the configuration.
    package let id: String?
    package let kind: Kind
    /// The app that it is of; nil: every app of the installation.
    package let app: String?
    /// Of a secret key; what an app does with a public one is no matter of scopes.
    package let scope: APIScope

    package init(id: String? = nil, kind: Kind, app: String?, scope: APIScope = .write) {
        self.id = id
        self.kind = kind
        self.app = app
        self.scope = scope
    }

    /// Whether calls with it may change anything.
    package var mayWrite: Bool { kind == .public || scope == .write }
}

/// Who may call a route.
package enum APIAccess: Sendable, Equatable {
    /// Everybody, without a key.
    case open
    /// Apps and backends; it changes nothing where the key may not write.
    case anyKey
    /// Apps, and backends that may write.
    case anyWritingKey
    /// Apps only.
    case publicKey
    /// Backends only.
    case secretKey(APIScope)
}
