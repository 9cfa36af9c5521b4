import Base
import Subscriptions

/// What callers are told of attributes that were not taken: on their own a 400, with a receipt a part of its 200.
package enum AttributeErrors {
    /// Code 7264: the whole is of no use. Code 7263: the rest was saved.
    package static func error(_ faults: [AttributePolicy.Fault]?) -> APIError? {
        guard let faults else { return APIError(400, code: 7264, "attributes must be an object of objects.") }
        guard !faults.isEmpty else { return nil }
        return APIError(
            400, code: 7263, "Some customer attribute keys were unable to be saved.",
            extra: [JSON.Member(name: "attribute_errors", value: .array(faults.map(\.json)))])
    }
}
