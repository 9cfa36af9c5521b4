/// Why an endpoint was disabled, for machines; a text for people stands beside it.
package enum EndpointDisabling: String, Sendable, CaseIterable {
    case byOperator = "operator"
    /// It answered 410.
    case gone
    /// It answered with the header `webhook-delivery: disable`.
    case asked
    /// It failed for too long.
    case failing

    package var text: String {
        switch self {
        case .byOperator: "by an operator"
        case .gone: "the consumer answered 410"
        case .asked: "the consumer asked for it by the header webhook-delivery"
        case .failing: "no success for too long"
        }
    }
}
