import AppStore
import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import Schemas
import Subscriptions

extension Composition {
    /// What answers Apple's questions about refunds; nil where no app wants that.
    ///
    /// - Parameters:
    ///   - accesses: the ways to Apple, by app.
    ///   - cancellation: ends calls that wait for Apple when the process ends.
    func refundDuty(
        _ accesses: [String: ServerAPIAccess], _ cancellation: Cancellation
    ) -> RefundAnswerDuty? {
        let apps = configuration.apps.filter { $0.refunds.policy != .never }
        guard !apps.isEmpty else { return nil }
        var senders: [String: RefundAnswerDuty.Send] = [:]
        for app in apps {
            guard let access = accesses[app.id] else { continue }
            senders[app.id] = { request, information in
                Result { () throws(ServerAPIError) in
                    try access.client.sendConsumption(
                        information, of: request.key.transactionID, in: request.key.purchase.environment,
                        CallOptions(priority: .background, within: .seconds(60), cancellation: cancellation))
                }
            }
        }
        let policies = Dictionary(apps.map { ($0.id, $0.refunds.answerPolicy) }) { first, _ in first }
        return RefundAnswerDuty(policies: policies, senders: senders, logger: logger, metrics: metrics)
    }
}

extension Composition {
    /// What asks Apple to extend renewal dates, for apps with a key.
    func extensionDuty(_ accesses: [String: ServerAPIAccess]) -> ExtensionDuty {
        let askers = accesses.mapValues { access -> ExtensionDuty.Ask in
            { purchase, wanted in
                Result { () throws(ServerAPIError) -> ExtensionDuty.Answer in
                    let result = try access.client.extendRenewal(
                        of: purchase.originalTransactionID, wanted, in: purchase.environment,
                        // Not cancelled as the process ends: Apple would do it, and none would know.
                        CallOptions(within: ExtensionDuty.patience))
                    return ExtensionDuty.Answer(isDone: result.isDone, expires: result.effectiveDate)
                }
            }
        }
        return ExtensionDuty(askers: askers, logger: logger)
    }
}

extension Configuration {
    /// Apps whose questions about refunds workers answer.
    var refundApps: Set<String> {
        Set(apps.filter { $0.refunds.policy != .never && $0.serverAPI != nil }.map(\.id))
    }
}

extension Configuration.Refunds {
    fileprivate var answerPolicy: RefundPolicy {
        switch policy {
        case .never: return .never
        case .ask: return .ask
        case .auto:
            let wish = preference.map { $0 == .decline ? ConsumptionInformation.Preference.decline : .grantFull }
            return .auto(
                RefundAnswer(
                    delivery: ConsumptionInformation.Delivery.delivered.rawValue,
                    sampleContentProvided: providesSamples, preference: wish?.rawValue))
        }
    }
}
