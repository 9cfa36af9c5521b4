import Base

/// What is told of the use of a purchase
/// (https://developer.apple.com/documentation/appstoreserverapi/consumptionrequest). Only with the customer's consent.
package struct ConsumptionInformation: Sendable, Equatable {
    package enum Delivery: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        case other = "UNDELIVERED_OTHER"
    }

    /// What the seller would like.
    package enum Preference: String, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    package var customerConsented: Bool
    package var delivery: Delivery
    package var sampleContentProvided: Bool
    /// Thousandths of a per cent, 0 to 100 000; not for subscriptions that renew.
    package var consumptionPercentage: Int64?
    package var preference: Preference?

    package init(
        customerConsented: Bool, delivery: Delivery, sampleContentProvided: Bool, consumptionPercentage: Int64? = nil,
        preference: Preference? = nil
    ) {
        self.customerConsented = customerConsented
        self.delivery = delivery
        self.sampleContentProvided = sampleContentProvided
        self.consumptionPercentage = consumptionPercentage
        self.preference = preference
    }

    /// What Apple would refuse; nil if nothing.
    var flaw: String? {
        if !customerConsented { return "Apple accepts consumption information only with the customer's consent" }
        guard let percentage = consumptionPercentage else {
            return nil
        }
        if !(0...100_000).contains(percentage) { return "the share that was used is from 0 to 100000" }
        if delivery != .delivered, percentage != 0 { return "what was not delivered was not used" }
        if preference == .grantProrated, !(1..<100_000).contains(percentage) {
            return "a part of the money goes back only for what was used in part"
        }
        return nil
    }

    var json: JSON {
        .object([
            "customerConsented": .bool(customerConsented), "deliveryStatus": .string(delivery.rawValue),
            "sampleContentProvided": .bool(sampleContentProvided),
            "consumptionPercentage": consumptionPercentage.map { .int($0) },
            "refundPreference": preference.map { .string($0.rawValue) },
        ])
    }
}
