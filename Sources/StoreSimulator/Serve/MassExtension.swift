import Base

/// An extension for all subscribers of a product, which the store carries out after a while.
struct MassExtension {
    let product: String
    let identifier: String
    let days: Int64
    /// Three-letter codes; empty: all.
    let storefronts: [String]
    let due: Int64
    /// Milliseconds since 1970.
    var completed: Int64?
    var succeeded: Int64 = 0
    var failed: Int64 = 0

    /// Milliseconds from the request to its end; with Apple it is hours.
    static let delay: Int64 = 500

    var json: JSON {
        .object([
            "requestIdentifier": .string(identifier), "complete": .bool(completed != nil),
            "completeDate": completed.map { .int($0) },
            "succeededCount": completed == nil ? nil : .int(succeeded),
            "failedCount": completed == nil ? nil : .int(failed),
        ])
    }
}

extension StoreState {
    /// Extends every subscription of the product that can be, tells each one, and then the count.
    mutating func finish(_ request: MassExtension, at now: Int64) -> MassExtension {
        var request = request
        for subscription in ledger.subscriptions.values.sorted(by: { $0.originalID < $1.originalID }) {
            guard let latest = ledger.transactions[subscription.latest], latest.text("productId") == request.product,
                subscription.status == 1,
                request.storefronts.isEmpty || request.storefronts.contains(latest.text("storefront") ?? "")
            else { continue }
            let isDone = (try? ledger.extend(subscription.originalID, days: request.days, at: now)) != nil
            if isDone { request.succeeded += 1 } else { request.failed += 1 }
            let made = ledger.notification(
                isDone ? "RENEWAL_EXTENDED" : "RENEWAL_EXTENSION", isDone ? nil : "FAILURE",
                about: subscription.originalID, uuid: random.uuid(), at: now)
            if let made { _ = admit(made, at: now) }
        }
        request.completed = now
        _ = admit(summary(of: request, at: now), at: now)
        return request
    }

    private mutating func summary(of request: MassExtension, at now: Int64) -> StoreNotification {
        var summary = PayloadMembers()
        summary.text("requestIdentifier", request.identifier)
        summary.append(settings.app.members().members)
        summary.text("productId", request.product)
        summary.add("storefrontCountryCodes", request.storefronts.isEmpty ? nil : .strings(request.storefronts))
        summary.integer("succeededCount", request.succeeded)
        summary.integer("failedCount", request.failed)
        return StoreNotification(
            type: "RENEWAL_EXTENSION", subtype: "SUMMARY", uuid: random.uuid(), signedDate: now,
            content: .summary(summary.json))
    }
}
