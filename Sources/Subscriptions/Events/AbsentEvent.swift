/// RevenueCat's event types that are never sent here, and why.
package struct AbsentEvent: Sendable {
    /// As events spell it.
    package let type: String
    /// A sentence.
    package let reason: String

    package static let all: [AbsentEvent] =
        [
            AbsentEvent(
                type: "TEMPORARY_ENTITLEMENT_GRANT",
                reason:
                    "Nothing is granted while Apple cannot be asked: what Apple signed is verified without asking Apple."
            ),
            AbsentEvent(type: "SUBSCRIPTION_PAUSED", reason: "Subscriptions can be paused in Google Play only."),
            AbsentEvent(type: "INVOICE_ISSUANCE", reason: "Invoices are of web billing, which there is not here."),
            AbsentEvent(
                type: "PURCHASE_REDEEMED",
                reason: "It is about web purchases that an app redeems; there are none here."),
            AbsentEvent(type: "VIRTUAL_CURRENCY_TRANSACTION", reason: "There are no virtual currencies here."),
            AbsentEvent(type: "EXPERIMENT_ENROLLMENT", reason: "There are no experiments here."),
        ]
        + ["PAYWALL_IMPRESSION", "PAYWALL_CLOSE", "PAYWALL_CANCEL", "EXIT_OFFER", "COMPONENT_INTERACTED"].map {
            AbsentEvent(type: $0, reason: "Apps do not report what customers do on paywalls.")
        }
}

extension EventType {
    /// Why no event has such a type, to complete "--event NAME: "; nil where there is one.
    package static func objection(to name: String) -> String? {
        if EventType(rawValue: name) != nil { return nil }
        // RevenueCat's REST v2 spells types in lower case.
        let upper = name.uppercased()
        if EventType(rawValue: upper) != nil { return "types of events are in capitals: write \(upper)" }
        if let absent = AbsentEvent.all.first(where: { $0.type == upper }) {
            return "entitled never sends \(upper). \(absent.reason)"
        }
        return "there is no such event; known are \(allCases.map(\.rawValue).joined(separator: ", "))"
    }
}
