import Base
import Postgres

/// Where a notification came from.
package enum NotificationSource: Int16, Sendable {
    /// Apple sent it.
    case store = 0
    /// It was found in Apple's history.
    case history = 1
    /// The same, and its events are to be sent however old they are.
    case historyToSend = 2
    /// Apple sent nothing: it was asked how a purchase stands, and this is its answer.
    case status = 3
    /// Apple sent nothing: an app posted a transaction that it has from Apple.
    case posted = 4
    /// Apple sent nothing: an import asked for it. What was so by then is no event to be sent.
    case imported = 5
    /// The same, and its events are to be sent however old they are.
    case importedToSend = 6

    /// Whether Apple sent it once; not what we asked for, or an app brought.
    package var isSent: Bool {
        switch self {
        case .store, .history, .historyToSend: true
        case .status, .posted, .imported, .importedToSend: false
        }
    }

    /// Whether an import brought it.
    package var isImported: Bool { self == .imported || self == .importedToSend }

    /// What a column says; what is not known counts as sent by Apple.
    package init(code: Int64) {
        self = Int16(exactly: code).flatMap(NotificationSource.init) ?? .store
    }
}

/// A verified notification on its way into the database.
package struct NewNotification: Sendable {
    package let identity: NotificationIdentity
    package let type: String
    package let subtype: String?
    package let originalTransactionID: String?
    /// Milliseconds; nil where Apple signed no date.
    package let signedDate: Int64?
    package let source: NotificationSource
    /// The base64url header segment, as sent.
    package let header: [UInt8]
    package let stored: StoredJWS
    /// When it came, in ms since 1970; nil: now.
    package private(set) var received: Int64?

    package init(
        identity: NotificationIdentity, type: String, subtype: String?, originalTransactionID: String?,
        signedDate: Int64?, source: NotificationSource, header: [UInt8], stored: StoredJWS
    ) {
        // Postgres keeps no NUL in a text; the payload keeps every byte.
        func storable(_ text: String) -> String { String(text.map { $0 == "\0" ? "\u{fffd}" : $0 }) }
        self.identity = NotificationIdentity(
            app: identity.app, environment: identity.environment, uuid: storable(identity.uuid))
        self.type = storable(type)
        self.subtype = subtype.map(storable)
        self.originalTransactionID = originalTransactionID.map(storable)
        self.signedDate = signedDate
        self.source = source
        self.header = header
        self.stored = stored
    }

    static let columns = """
        app, environment, uuid, type, subtype, original_transaction_id, signed_ms, received_ms, source, header, payload, signature
        """

    /// One that was admitted before, from these columns; `header` is the header itself.
    init(_ row: PostgresRow) throws {
        let header = try row.bytes("header")
        self.init(
            identity: NotificationIdentity(
                app: try row.text("app"), environment: try row.value("environment"), uuid: try row.text("uuid")),
            type: try row.text("type"), subtype: try row.optionalText("subtype"),
            originalTransactionID: try row.optionalText("original_transaction_id"),
            signedDate: try row.optionalInt("signed_ms"), source: NotificationSource(code: try row.int("source")),
            header: header,
            stored: StoredJWS(
                headerID: StoredJWS.headerID(header), payload: try row.bytes("payload"),
                signature: try row.bytes("signature")))
        received = try row.int("received_ms")
    }

    package var lane: Lane {
        Lane(
            app: identity.app, environment: identity.environment,
            subject: originalTransactionID ?? identity.uuid.lowercased())
    }
}
