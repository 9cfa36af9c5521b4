import Base
import Database
import Markup
import Operator

extension BulkRequest {
    var section: ConsoleSection? { ConsoleSection.allCases.first { $0.desk == list } }
    var listPath: LocalPath? { section?.path }

    var title: String {
        switch self {
        case .resend: "Send deliveries again"
        case .giveUp: "Give up deliveries"
        case .reprocess: "Process notifications again"
        case .resendEvents: "Send events again"
        case .replayWebhooks: "Send webhooks again"
        case .replayHistory: "Read Apple's history again"
        case .outageLook: "Look again for what an outage missed"
        case .grant: "Grant an entitlement to many customers"
        }
    }

    var button: String {
        switch self {
        case .resend, .resendEvents, .replayWebhooks: "Send again"
        case .replayHistory: "Read the history"
        case .outageLook: "Look again"
        case .grant: "Grant to"
        case .giveUp: "Give up"
        case .reprocess: "Process again"
        }
    }

    /// Of a link that stands on a page about something else.
    var linked: String {
        switch self {
        case .replayWebhooks, .replayHistory: title
        case .grant: "Grant"
        default: button
        }
    }

    /// What a sample is.
    var sampled: String {
        switch self {
        case .reprocess: "Notification"
        case .grant: "Customer"
        case .replayWebhooks: "Delivery or event"
        case .resend, .giveUp, .resendEvents, .replayHistory, .outageLook: "Delivery"
        }
    }

    /// What becomes of those that are not left out.
    var counted: String {
        switch self {
        case .resend, .resendEvents, .replayWebhooks: "Would be sent"
        case .replayHistory, .outageLook: "Would be read"
        case .grant: "Would get it"
        case .giveUp: "Would be given up"
        case .reprocess: "Would be processed"
        }
    }

    var meaning: String {
        switch self {
        case .resend:
            "Consumers get what was delivered or given up once more, with the ids that it had. What is on its way stays there."
        case .giveUp: "What waits is not tried any more. It can be sent again later."
        case .reprocess:
            "The notifications are verified and applied again. What they changed before is not changed twice."
        case .resendEvents:
            "Consumers get the deliveries of these events once more, with the ids that they had. An endpoint that never had an"
                + " event does not get it."
        case .replayWebhooks:
            "The endpoint gets what it was given up for, never had, or all of a time, with the ids that events have. What"
                + " happens now goes first."
        case .replayHistory:
            "A worker asks Apple for all notifications of that time and applies those that are missing here. Only Apple knows"
                + " how many there are: let it count first, or see the job."
        case .outageLook:
            "A worker asks Apple once more for all notifications of the time of the outage and applies those that are missing"
                + " here."
        case .grant:
            "Each customer gets the entitlement without a purchase, once, and consumers get an event of it. A customer who is"
                + " deleted meanwhile is left out."
        }
    }
}

extension BulkSkip {
    /// Why it is left as it is.
    var words: String {
        switch self {
        case .open: "On its way already"
        case .ended: "Delivered or given up"
        case .endpointDisabled: "Endpoint disabled"
        case .endpointRemoved: "Endpoint removed"
        case .notKept: "Not kept any more"
        case .changed: "Changed meanwhile"
        case .unknown: "No customer, or deleted"
        case .sameCustomer: "Another id of the same customer"
        case .repeated: "Got the same shortly before"
        case .failed: "Failed, alone as among others"
        }
    }
}
