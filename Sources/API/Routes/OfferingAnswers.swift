import Base
import Daemon
import HTTP
import Subscriptions

/// Offerings as bytes, which are the same for all customers with the same platform and current offering: designs of
/// paywalls may have some hundred kilobytes.
final class OfferingAnswers: Sendable {
    /// An answer and its entity tag.
    struct Answer: Sendable {
        let body: [UInt8]
        let tag: EntityTag

        init(_ document: JSON) {
            body = HTTPResponse.document(200, document).body
            tag = EntityTag(of: body)
        }
    }

    private struct Kind: Hashable {
        let platform: String
        let current: String?
    }

    private let offerings: OfferingCatalogue
    /// As many as there are platforms times offerings, at most.
    private let made = Monitor<[Kind: Answer]>([:])

    init(_ offerings: OfferingCatalogue) {
        self.offerings = offerings
    }

    /// - Parameters:
    ///   - platform: one that is known, in lower case.
    ///   - override: the offering that was chosen for the customer.
    func answer(platform: String, override: String?) -> Answer {
        let kind = Kind(platform: platform, current: offerings.shown(to: override))
        if let known = made.read({ $0[kind] }) { return known }
        let answer = Answer(offerings.document(platform: platform, override: override))
        made.change { $0[kind] = answer }
        return answer
    }
}
