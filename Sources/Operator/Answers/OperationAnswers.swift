import Base
import Database
import Subscriptions

/// A gap in the time in which notifications could be stored. Instants are in ms since 1970.
package struct OutageRow: DeskAnswer, Equatable {
    package struct Coverage: Sendable, Equatable {
        package let app: String
        package let environment: StoreEnvironment
        /// Up to when Apple's history was looked through; nil: never.
        package let covered: Int64?
    }

    package let from: Int64
    package let until: Int64
    package let coverage: [Coverage]

    /// Whether Apple's history of that time was looked through.
    package func isCovered(_ coverage: Coverage) -> Bool { coverage.covered.map { $0 >= until } ?? false }

    package var json: JSON {
        .object([
            "number": .int(number), "from": .date(from), "until": .date(until), "seconds": .int((until - from) / 1000),
            "history": .array(
                coverage.map {
                    .object([
                        "app": .string($0.app), "environment": .string($0.environment.rawValue),
                        "scanned_to": .date($0.covered), "is_covered": .bool(isCovered($0)),
                    ])
                }),
        ])
    }
}

/// A question of Apple's about a refund.
package struct RefundRow: DeskAnswer {
    package let request: RefundRequest
    /// The app user id that the purchase belongs to.
    package let owner: String?
    /// When it was asked for; ms since 1970.
    package let now: Int64

    package init(request: RefundRequest, owner: String?, now: Int64) {
        (self.request, self.owner, self.now) = (request, owner, now)
    }

    package var json: JSON {
        let key = request.key
        return .object([
            "transaction_id": .string(key.transactionID),
            "original_transaction_id": .string(key.purchase.originalTransactionID), "app": .string(key.purchase.app),
            "environment": .string(key.purchase.environment.rawValue), "app_user_id": .text(owner),
            "product_id": .string(request.productID), "reasons": .strings(request.reasons),
            "repeats": .int(request.repeats), "asked_at": .date(request.asked), "deadline": .date(request.deadline),
            "open": .bool(request.isOpen(at: now)), "decision": .text(request.decision),
            "decided_at": .date(request.decided), "state": .string(request.state.rawValue),
            "answer": request.answer?.json ?? .null, "answered_by": .text(request.answeredBy),
            "answered_at": .date(request.answered), "attempts": .int(request.attempts),
            "failure": .text(request.failure),
        ])
    }
}

/// A product that was bought, and what it gives.
package struct ProductRow: DeskAnswer {
    package let product: SeenProduct
    /// ms since 1970.
    package let firstSeen: Int64
    package let entitlements: [String]

    package init(product: SeenProduct, firstSeen: Int64, entitlements: [String]) {
        (self.product, self.firstSeen, self.entitlements) = (product, firstSeen, entitlements)
    }

    package var json: JSON {
        .object([
            "product_id": .string(product.productID), "app": .string(product.app),
            "environment": .string(product.environment.rawValue), "type": .string(product.kind),
            "first_seen": .date(firstSeen), "entitlements": .strings(entitlements),
        ])
    }
}

package typealias JobRow = Job

extension Job: DeskAnswer {
    package var json: JSON {
        .object([
            "id": .int(id), "kind": .string(kind), "state": .string(state.rawValue), "error": .text(error),
            "request": .string(request), "parameters": parameters, "matched": .int(counts.matched),
            "queued": .int(counts.queued), "skipped": .int(counts.skipped), "done": .double(fraction),
            "rate": .integer(rate.map { Int64($0) }), "made_by": .string(madeBy), "created_at": .date(created),
            "updated_at": .date(updated), "finished_at": .date(finished),
        ])
    }
}

/// Something that an operator or an app did with a customer.
package struct ActionRow: DeskAnswer {
    package let entry: ActionTable.Entry

    package var json: JSON {
        .object([
            "number": .int(entry.number), "kind": .string(entry.kindName), "at": .date(entry.at),
            "actor": .string(entry.origin.actor), "reason": .text(entry.origin.reason),
            "app_user_id": .string(entry.appUserID), "other": .text(entry.other), "text": .string(entry.sentence),
        ])
    }
}
