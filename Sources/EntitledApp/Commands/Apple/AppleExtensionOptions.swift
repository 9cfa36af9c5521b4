import AppStoreAPI
import CLI
import Foundation

/// The options of `apple extend` and `apple extend-all` that say what is given.
struct AppleExtensionOptions: ParsableArguments {
    @Option("--days", .integer(1...RenewalExtension.longest, "N"), "Number of days.") private var days: Int64?
    @Option(
        "--reason", .choice(RenewalExtension.Reason.allCases.map(\.word), "REASON"), "Reason to give to Apple.")
    private var reason: RenewalExtension.Reason?
    @Option("--request-id", .text("ID"), "Your identifier of the request; default: a new UUID.")
    private var requestIdentifier: String?

    var hasRequestIdentifier: Bool { requestIdentifier != nil }

    func `extension`() throws(UsageError) -> RenewalExtension {
        guard let days, let reason else { throw UsageError("an extension needs --days and --reason") }
        let identifier = requestIdentifier ?? UUID().uuidString.lowercased()
        guard identifier.utf8.count <= 128 else { throw UsageError("--request-id can have at most 128 characters") }
        return RenewalExtension(days: days, reason: reason, requestIdentifier: identifier)
    }
}

extension RenewalExtension.Reason: InputValue {
    package init?(input text: String, as kind: ValueKind) {
        guard let reason = RenewalExtension.Reason.allCases.first(where: { $0.word == text }) else { return nil }
        self = reason
    }
}
