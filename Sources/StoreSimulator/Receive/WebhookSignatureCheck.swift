import Base
import Crypto

/// Checks the two signatures of a webhook, as a consumer would.
package struct WebhookSignatureCheck: Sendable {
    /// How far its time may be from now, in seconds.
    private static let tolerance: Int64 = 300

    private let secrets: [String]
    private let keys: [[UInt8]]

    /// `whsec_` and base64, several while one replaces another; nil if one is none.
    package init?(secrets: [String]) {
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix("whsec_"), let key = Base64.decode(Array(secret.utf8.dropFirst(6))), !key.isEmpty
            else { return nil }
            keys.append(key)
        }
        self.keys = keys
        self.secrets = secrets
    }

    /// What is wrong with them; nil when both fit. `now` in milliseconds.
    package func fault(id: String?, time: String?, standard: String?, revenueCat: String?, body: [UInt8], now: Int64)
        -> String?
    {
        guard let id, let time, let standard else { return "no webhook-id, webhook-timestamp or webhook-signature" }
        guard isNear(time, now) else { return "webhook-timestamp \(time) is not now" }
        let content = Array("\(id).\(time).".utf8) + body
        let wanted = keys.map { "v1," + Base64.encode(Digest.hmacSHA256(key: $0, content)) }
        guard standard.split(separator: " ").contains(where: { wanted.contains(String($0)) }) else {
            return "webhook-signature does not fit"
        }
        guard let revenueCat else { return "no x-revenuecat-webhook-signature" }
        return revenueCatFault(revenueCat, body, now)
    }

    private func revenueCatFault(_ header: String, _ body: [UInt8], _ now: Int64) -> String? {
        var times: [String] = []
        var signatures: [String] = []
        for part in header.split(separator: ",") {
            if part.hasPrefix("t=") { times.append(String(part.dropFirst(2))) }
            if part.hasPrefix("v1=") { signatures.append(String(part.dropFirst(3))) }
        }
        guard let time = times.first, times.count == 1, isNear(time, now) else {
            return "x-revenuecat-webhook-signature has no time that is now"
        }
        let content = Array("\(time).".utf8) + body
        // As Stripe's libraries do: the key is the secret as it is written.
        let wanted = secrets.map { Hex.encode(Digest.hmacSHA256(key: Array($0.utf8), content)) }
        return signatures.contains(where: wanted.contains) ? nil : "x-revenuecat-webhook-signature does not fit"
    }

    private func isNear(_ time: String, _ now: Int64) -> Bool {
        guard let seconds = Int64(time), seconds > 0, seconds < 1 << 40 else { return false }
        return abs(now / 1000 - seconds) <= WebhookSignatureCheck.tolerance
    }
}
