import Postgres

/// What an operator can ask for from the console and the operator API.
package enum ChangeKind: String, Sendable, CaseIterable, ColumnDecodable {
    /// Gives a customer an entitlement: `{"entitlement", "until" in ms | "duration"}`.
    case grant
    /// Takes back what a customer was granted: `{"entitlement"}`.
    case revoke
    /// Sends a delivery again.
    case resend
    /// Sends an event again to one endpoint, or to all that take it: `{"endpoint"?}`.
    case eventResend = "event_resend"
    /// Applies a notification again, or releases a held one: `{"app", "environment"}`.
    case reprocess
    case endpointEnable = "endpoint_enable"
    case endpointDisable = "endpoint_disable"
    /// Sends nothing to an endpoint before an instant: `{"until"}`, in ms.
    case endpointPause = "endpoint_pause"
    /// Sends again all deliveries that a `BulkSelection` names.
    case bulkResend = "bulk_resend"
    /// Gives up all deliveries that a `BulkSelection` names.
    case bulkGiveUp = "bulk_give_up"
    /// Applies all notifications again that a `BulkSelection` names.
    case bulkReprocess = "bulk_reprocess"
    /// `bulkResend` of one customer's deliveries.
    case customerResend = "customer_resend"
    /// `bulkGiveUp` of one customer's deliveries.
    case customerGiveUp = "customer_give_up"
    /// Ends a job of several steps where it is.
    case jobCancel = "job_cancel"
    /// Adds a note to a customer: `{"text"}`.
    case note
    /// Removes a note of the operator's own: `{"note"}`, its number.
    case noteRemove = "note_remove"
    /// Adds an id to a customer, or joins two: `{"alias", "create"}`.
    case alias
    /// Gives purchases to another customer: `{"to", "purchase"?}`.
    case transfer
    /// Takes a purchase for a customer, as a restore in the app does: `{"app", "environment", "purchase"}`.
    case claim
    /// Answers Apple's question about a refund of the purchase: `{"app", "environment", "transaction", "answer"}`,
    /// with the answer as `RefundAnswer` has it.
    case refundAnswer = "refund_answer"
    /// Makes a new secret of an endpoint: `{"overlap", "answer_key"}`, in ms, and in hex digits the key that the new secret is
    /// sealed to for the one who asked; or takes one that `SecretIntake` sealed.
    case endpointRotateSecret = "endpoint_rotate_secret"
    /// Extends the renewal date of a purchase: `{"app", "environment", "days", "apple_reason", "request_id"}`.
    case purchaseExtend = "purchase_extend"
    /// Makes an endpoint of the target's id, which the console chose: an `EndpointForm`, what `SecretIntake` sealed, and `answer_key`.
    case endpointAdd = "endpoint_add"
    /// Changes an endpoint's settings: as `endpointAdd`, without a key.
    case endpointChange = "endpoint_change"
    case endpointRemove = "endpoint_remove"
    /// Sends a TEST event to an endpoint.
    case endpointTest = "endpoint_test"
    /// Deletes a customer, as `DeletionPolicy` has it: `{"policy", "holdings"}`.
    case customerDelete = "customer_delete"
    /// Asks Apple how a purchase stands: `{"app", "environment"}`.
    case statusPoll = "status_poll"
    /// Asks Apple of which purchases the target, an `OrderID`, is: `{"app"?}`.
    case orderLookup = "order_lookup"
    /// Sends webhooks again to the endpoint that is the target, as `entitled replay webhooks` does.
    case replayWebhooks = "replay_webhooks"
    /// Reads a span of Apple's history of the target, `APP/ENVIRONMENT`, as `entitled replay history` does.
    case replayHistory = "replay_history"
    /// The same of the time of an outage: the target is its number.
    case outageLook = "outage_look"
    /// Gives customers an entitlement, who are named by ids or by a list's filters: `{"entitlement", "until" in ms | "duration"}`.
    case bulkGrant = "bulk_grant"

    /// Who may ask for it.
    package var roles: Set<OperatorRole> {
        switch self {
        case .grant, .revoke, .note, .noteRemove, .transfer, .refundAnswer, .purchaseExtend, .statusPoll,
            .orderLookup, .bulkGrant:
            [.support, .operator]
        // Customers may become one, which cannot be undone.
        case .alias, .claim, .customerDelete: [.operator]
        case .resend, .eventResend: [.support, .integrator, .operator]
        case .reprocess, .bulkReprocess, .replayWebhooks, .replayHistory, .outageLook: [.operator]
        case .endpointEnable, .endpointDisable, .endpointPause, .bulkResend, .bulkGiveUp, .customerResend,
            .customerGiveUp, .jobCancel, .endpointRotateSecret, .endpointAdd, .endpointChange, .endpointRemove,
            .endpointTest:
            [.integrator, .operator]
        }
    }

    /// What the target of a change is an id of: the same text may name one thing of each class.
    package enum TargetClass: String, Sendable {
        case customer, purchase, event, delivery, notification, endpoint, list, job
    }

    package var targetClass: TargetClass {
        switch self {
        case .grant, .revoke, .customerResend, .customerGiveUp, .note, .noteRemove, .alias, .transfer, .claim,
            .customerDelete:
            .customer
        case .refundAnswer, .purchaseExtend, .statusPoll, .orderLookup: .purchase
        case .resend: .delivery
        case .eventResend: .event
        case .reprocess: .notification
        case .endpointEnable, .endpointDisable, .endpointPause, .endpointRotateSecret, .endpointAdd, .endpointChange,
            .endpointRemove, .endpointTest, .replayWebhooks:
            .endpoint
        case .bulkResend, .bulkGiveUp, .bulkReprocess, .replayHistory, .outageLook, .bulkGrant: .list
        case .jobCancel: .job
        }
    }

    /// Kinds whose target is a customer.
    package static let ofCustomers = allCases.filter { $0.targetClass == .customer }

    /// As the audit names entries whose target is a customer.
    package static let namesOfCustomers = ofCustomers.map(\.rawValue) + [AuditTable.Look.customerExport.rawValue]

    /// Kinds whose target is the original transaction id of a purchase, or the number of an order.
    package static let ofPurchases = allCases.filter { $0.targetClass == .purchase }

    /// As the audit names entries whose target is a customer, or a purchase of one.
    package static let namesOfPersons = namesOfCustomers + ofPurchases.map(\.rawValue)

    /// Whether the parameters hold what is to be forgotten once it is over: texts of persons, and ids of another customer, whose
    /// deletion does not find them there. What was sealed for one change, and a key to which a secret was sealed, is of no use then.
    package var forgetsParameters: Bool {
        switch self {
        case .note, .alias, .transfer, .claim, .refundAnswer, .endpointRotateSecret, .purchaseExtend, .endpointAdd,
            .endpointChange, .bulkGrant:
            true
        default: false
        }
    }

    /// Scalars of its parameters at most: a list can name its rows one by one.
    package var longestParameters: Int { rawValue.hasPrefix("bulk_") ? 65_536 : 16_384 }

    /// Whether a reason has to be given: a note says itself what it is for, and so does the number of an order.
    package var needsReason: Bool { takesReason && self != .orderLookup }

    /// Whether a reason can be given.
    package var takesReason: Bool { self != .note && self != .noteRemove }

    /// Why it is asked for, where that need not be said and is not.
    package var standardReason: String { self == .orderLookup ? "an order's number" : "a note" }

    /// Whether the outcome has a secret, sealed to the one who asked.
    package var makesSecret: Bool { self == .endpointRotateSecret || self == .endpointAdd }

    /// Whether a request can have members of `GivenSecrets`, whose values `SecretIntake` seals.
    package var takesSecrets: Bool {
        self == .endpointAdd || self == .endpointChange || self == .endpointRotateSecret
    }

    /// Whether it takes something away for good, so that it is shown before, and confirmed by the id.
    package var isFinal: Bool { self == .endpointRemove || self == .customerDelete }

    /// Whether Apple is asked to do it: it can be neither repeated nor rolled back.
    package var isOfApple: Bool { self == .purchaseExtend }

    /// Whether Apple is only asked for something, as often as it takes.
    package var isInquiry: Bool { self == .statusPoll || self == .orderLookup }

    package static let inquiries = allCases.filter(\.isInquiry)

    /// Whether it is done in several steps, as a job is.
    package var isBulk: Bool {
        switch self {
        case .bulkResend, .bulkGiveUp, .bulkReprocess, .customerResend, .customerGiveUp, .replayWebhooks,
            .replayHistory,
            .outageLook, .bulkGrant:
            true
        case .grant, .revoke, .resend, .eventResend, .reprocess, .endpointEnable, .endpointDisable, .endpointPause,
            .jobCancel, .note, .noteRemove, .alias, .transfer, .claim, .refundAnswer, .endpointRotateSecret,
            .purchaseExtend, .endpointAdd, .endpointChange, .endpointRemove, .endpointTest, .customerDelete,
            .statusPoll, .orderLookup:
            false
        }
    }

    /// Whether Apple's history is read, which takes as long as Apple takes.
    package var readsHistory: Bool { self == .replayHistory || self == .outageLook }

    /// Whether it is a replay: the work of `entitled replay`.
    package var isReplay: Bool { self == .replayWebhooks || readsHistory }

    /// Kinds that are done in several steps.
    package static let bulk = allCases.filter(\.isBulk)
}
