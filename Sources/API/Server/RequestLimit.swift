import Base
import HTTP

/// How many points requests may cost in a time: a bucket that holds all of them and fills up evenly over that time.
package struct RequestLimit: Sendable, Equatable {
    package let points: Int64
    package let period: Duration

    /// Nothing is limited.
    package static let off = RequestLimit(points: 0, period: .seconds(1))

    package var isOff: Bool { points == 0 }

    package init(points: Int64, period: Duration) {
        (self.points, self.period) = (points, period)
    }

    package static let mostPoints: Int64 = 100_000_000
    package static let periods = Duration.seconds(1)...Duration.seconds(86_400)

    /// Reads `30000/1m` and `off`; nil for everything else.
    package init?(text: String) {
        if text == "off" {
            self = .off
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let points = Int64(parts[0]), (1...RequestLimit.mostPoints).contains(points),
            let period = Duration(text: String(parts[1])), RequestLimit.periods.contains(period)
        else { return nil }
        self.init(points: points, period: period)
    }

    /// The spelling that `init(text:)` reads back.
    package var text: String { isOff ? "off" : "\(points)/\(period.text)" }
}

/// What requests cost, in points.
package enum RequestCost {
    package static let read = 1
    package static let write = 5
    /// Making a customer by reading, beside the reading: a row stays.
    package static let newCustomer = 10
    /// Bytes of a body that cost one point more.
    package static let bytesOfPoint = 4096
}

/// The limits of one process (`api.limits`).
package struct LimitSettings: Sendable {
    /// Of one client address, where the key is not secret.
    package var address = RequestLimit(points: 30_000, period: .seconds(60))
    /// Of one app user id, where the key is not secret.
    package var appUserID = RequestLimit(points: 1200, period: .seconds(60))
    /// Of one Apple account, by posts of what Apple signed for it.
    package var appleAccount = RequestLimit(points: 600, period: .seconds(300))
    /// Of one public key: all copies of an app share it.
    package var publicKey = RequestLimit(points: 600_000, period: .seconds(60))
    /// Of one secret key.
    package var secretKey = RequestLimit.off
    package var proxies = TrustedProxies()

    package init() {}

    func limit(_ kind: LimitKind) -> RequestLimit {
        switch kind {
        case .address: address
        case .appUserID: appUserID
        case .appleAccount: appleAccount
        case .publicKey: publicKey
        case .secretKey: secretKey
        }
    }
}

/// What a limit counts by; as metrics and log lines name it.
enum LimitKind: String, CaseIterable, Sendable {
    case address
    case appUserID = "app_user_id"
    case appleAccount = "apple_account"
    case publicKey = "public_key"
    case secretKey = "secret_key"
}
