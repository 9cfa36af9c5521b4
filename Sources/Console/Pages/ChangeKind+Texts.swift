import Accounts
import Base
import Crypto
import Database
import HTTP
import Markup
import Operator
import Subscriptions

extension ChangeKind {
    var title: String {
        switch self {
        case .grant: "Grant an entitlement"
        case .revoke: "Take back grants"
        case .resend: "Send a delivery again"
        case .eventResend: "Send an event again"
        case .reprocess: "Process a notification again"
        case .endpointEnable: "Enable an endpoint"
        case .endpointDisable: "Disable an endpoint"
        case .endpointPause: "Pause an endpoint"
        case .bulkResend: "Send deliveries again"
        case .bulkGiveUp: "Give up deliveries"
        case .bulkReprocess: "Process notifications again"
        case .customerResend: "Send a customer's deliveries again"
        case .customerGiveUp: "Give up a customer's deliveries"
        case .jobCancel: "Cancel a job"
        case .note: "Add a note"
        case .noteRemove: "Remove a note"
        case .alias: "Add an id, or join two customers"
        case .transfer: "Move purchases to another customer"
        case .claim: "Claim a purchase for a customer"
        case .refundAnswer: "Answer Apple about a refund"
        case .endpointRotateSecret: "Rotate the secret of an endpoint"
        case .purchaseExtend: "Extend a renewal date"
        case .endpointAdd: "Add an endpoint"
        case .endpointChange: "Change an endpoint"
        case .endpointRemove: "Remove an endpoint"
        case .endpointTest: "Send a test event"
        case .customerDelete: "Delete a customer"
        case .statusPoll: "Ask Apple how a purchase stands"
        case .orderLookup: "Ask Apple about an order"
        case .replayWebhooks: "Send webhooks again"
        case .replayHistory: "Read Apple's history again"
        case .outageLook: "Look again for what an outage missed"
        case .bulkGrant: "Grant an entitlement to many customers"
        }
    }

    var button: String {
        switch self {
        case .grant: "Grant"
        case .revoke: "Take back"
        case .resend, .eventResend, .bulkResend, .customerResend: "Send again"
        case .reprocess, .bulkReprocess: "Process again"
        case .bulkGiveUp, .customerGiveUp: "Give up"
        case .jobCancel: "Cancel the job"
        case .note: "Add a note"
        case .noteRemove: "Remove"
        case .alias: "Add an id"
        case .transfer: "Move purchases"
        case .claim: "Claim"
        case .refundAnswer: "Answer"
        case .endpointRotateSecret: "Rotate the secret"
        case .purchaseExtend: "Extend"
        case .endpointAdd: "Add an endpoint"
        case .endpointChange: "Change"
        case .endpointRemove: "Remove"
        case .endpointTest: "Send a test"
        case .customerDelete: "Delete"
        case .statusPoll, .orderLookup: "Ask Apple"
        case .replayWebhooks: "Send again"
        case .replayHistory: "Read the history"
        case .outageLook: "Look again"
        case .bulkGrant: "Grant"
        case .endpointEnable: "Enable"
        case .endpointDisable: "Disable"
        case .endpointPause: "Pause"
        }
    }

    /// What will happen, as a sentence.
    func meaning(_ id: String) -> String {
        switch self {
        case .grant: "\(id) gets the entitlement without a purchase, and consumers get an event of it."
        case .revoke: "\(id) loses what was granted of the entitlement; purchases stay. Consumers get an event of it."
        case .resend: "The consumer gets \(id) once more, with the id that it had."
        case .eventResend:
            "Consumers get \(id) once more, with the id that it had; one that takes such events and never had it, gets it"
                + " for the first time."
        case .bulkResend, .customerResend: "Consumers get the deliveries once more, with the ids that they had."
        case .bulkGiveUp, .customerGiveUp: "The deliveries are not tried any more."
        case .bulkReprocess: "The notifications are verified and applied again."
        case .replayWebhooks: "The endpoint \(id) gets webhooks of a time once more, or those that it never had."
        case .replayHistory, .outageLook:
            "Apple is asked for its notifications of a time; those that are missing here are applied."
        case .bulkGrant: "Customers get the entitlement without a purchase, and consumers get an event of it."
        case .jobCancel: "The job \(id) ends where it is; what it sent or queued stays so."
        case .note: "Operators see it on the page of \(id); it goes with the customer."
        case .noteRemove: "The note on \(id) is gone for good; only its author can remove it."
        case .alias:
            "\(id) gets another id. If a customer has that, both become one, with all purchases and attributes; it cannot be"
                + " undone."
        case .transfer:
            "The purchases of \(id) move to another customer and stay there, whatever Apple signs later; grants stay. Consumers"
                + " get an event of it."
        case .claim:
            "The purchase \(id), and all else that its Apple account bought, goes to the customer as if it was restored in the app:"
                + " an anonymous owner is joined with them, which cannot be undone; with another owner, restore_behavior decides"
                + " whether all of it moves, stays, or both customers become one."
        case .refundAnswer:
            "A worker tells Apple how \(id) was used, and what you prefer; Apple decides. It takes one answer, within 12 hours of its"
                + " question, and with the customer's consent only."
        case .endpointRotateSecret:
            "\(id) gets a new secret, which the next page shows once unless you give it. Webhooks are signed with it at once, and"
                + " with the former ones for a while, so that the consumer has time to take it over."
        case .purchaseExtend:
            "Apple lets the subscription \(id) go on for so many days more without a payment, twice a year at most. It cannot be undone;"
                + " the record follows once Apple reports it."
        case .endpointAdd:
            "Events go to a new consumer from now on. The next page shows once the secret that signs them."
        case .endpointChange:
            "The settings of \(id) change; its secrets and what waits for it stay. What is secret is not shown here: what is left"
                + " empty stays as it is."
        case .endpointRemove: "\(id) gets nothing any more, and what waits for it is given up. It cannot be undone."
        case .endpointTest: "\(id) gets a TEST event, which is about no customer."
        case .customerDelete:
            "\(id) and all its ids name no customer any more, and personal data goes from every table. Apple continues to charge for"
                + " subscriptions. Consumers get no event of it. It cannot be undone."
        case .statusPoll:
            "A worker asks Apple for the status and the transactions of \(id). What Apple signed and is not here yet is stored and"
                + " applied, and consumers get events of what it changes."
        case .orderLookup:
            "A worker asks Apple which purchases an order number stands for: customers find it in the receipt by e-mail. What Apple signed"
                + " and is not here yet is stored and applied. Apple finds orders of Production only."
        case .reprocess: "\(id) is verified and applied again. What it changed before is not changed twice."
        case .endpointEnable: "\(id) gets its held deliveries, the oldest first, and all new ones."
        case .endpointDisable: "Nothing is sent to \(id) any more; its deliveries are held until it is enabled."
        case .endpointPause: "Nothing is sent to \(id) until then; what comes meanwhile is sent afterwards."
        }
    }
}

extension GrantDuration {
    /// How long, as people say it.
    var words: String {
        switch self {
        case .daily: "a day"
        case .threeDay: "three days"
        case .weekly: "a week"
        case .twoWeek: "two weeks"
        case .monthly: "a month"
        case .twoMonth: "two months"
        case .threeMonth: "three months"
        case .sixMonth: "six months"
        case .yearly: "a year"
        case .lifetime: "ever"
        }
    }
}
