import Base

/// What Apple is told of the use of a purchase, as it is kept until it is sent. That the customer agreed is its premise.
package struct RefundAnswer: Sendable, Equatable {
    /// Apple's `deliveryStatus`.
    package let delivery: String
    package let sampleContentProvided: Bool
    /// Thousandths of a per cent.
    package let consumed: Int64?
    /// Apple's `refundPreference`; nil: none.
    package let preference: String?

    package init(delivery: String, sampleContentProvided: Bool, consumed: Int64? = nil, preference: String? = nil) {
        self.delivery = delivery
        self.sampleContentProvided = sampleContentProvided
        self.consumed = consumed
        self.preference = preference
    }

    package var json: JSON {
        .object([
            "delivery": .string(delivery), "sample_content": .bool(sampleContentProvided),
            "consumed": .integer(consumed), "preference": .text(preference),
        ])
    }

    /// Nil where it is no answer.
    package init?(_ text: String) {
        guard let json = try? JSON(parsing: Array(text.utf8)), let delivery = json["delivery"]?.stringValue,
            let sample = json["sample_content"]?.boolValue
        else { return nil }
        self.init(
            delivery: delivery, sampleContentProvided: sample, consumed: json["consumed"]?.intValue,
            preference: json["preference"]?.stringValue)
    }
}
