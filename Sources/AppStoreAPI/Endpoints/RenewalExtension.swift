import AppStore
import Base

/// Days that a seller gives, and why
/// (https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest).
package struct RenewalExtension: Sendable, Equatable {
    package enum Reason: Int64, Sendable, CaseIterable {
        case undeclared
        case customerSatisfaction
        case other
        case outage

        /// As the command line has it.
        package var word: String {
            switch self {
            case .undeclared: "undeclared"
            case .customerSatisfaction: "satisfaction"
            case .other: "other"
            case .outage: "outage"
            }
        }
    }

    package static let longest: Int64 = 90

    package let days: Int64
    package let reason: Reason
    /// The seller's own name for it, at most 128 bytes.
    package let requestIdentifier: String

    package init(days: Int64, reason: Reason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    /// What Apple would refuse; nil if nothing.
    var flaw: String? {
        guard (1...RenewalExtension.longest).contains(days) else { return "an extension is of 1 to 90 days" }
        return (1...128).contains(requestIdentifier.utf8.count) ? nil : "a request id has 1 to 128 characters"
    }

    var members: [JSON.Member] {
        [
            .init(name: "extendByDays", value: .int(days)),
            .init(name: "extendReasonCode", value: .int(reason.rawValue)),
            .init(name: "requestIdentifier", value: .string(requestIdentifier)),
        ]
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldateresponse
package struct RenewalExtensionResult: WirePayload {
    package let originalTransactionID: String?
    package let webOrderLineItemID: String?
    package let isDone: Bool
    /// When the subscription renews now; ms since 1970.
    package let effectiveDate: Int64?

    package init(_ members: Members) throws {
        originalTransactionID = members.text("originalTransactionId")
        webOrderLineItemID = members.text("webOrderLineItemId")
        isDone = try members.flag("success").required()
        effectiveDate = members.integer("effectiveDate")
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldatestatusresponse
package struct ExtensionProgress: WirePayload {
    package let isComplete: Bool
    /// Milliseconds since 1970.
    package let completed: Int64?
    package let succeeded: Int64?
    package let failed: Int64?

    package init(_ members: Members) throws {
        isComplete = try members.flag("complete").required()
        completed = members.integer("completeDate")
        succeeded = members.integer("succeededCount")
        failed = members.integer("failedCount")
    }
}
