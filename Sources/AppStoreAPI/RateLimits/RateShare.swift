/// How much of what Apple allows an app a process uses. Processes do not know of each other's requests.
package enum RateShare: Sendable {
    /// Of processes that ask little for long: less than all of it, because others have the same limit.
    case usual
    /// Of long work beside them: half stays for them.
    case half

    var part: Double {
        switch self {
        case .usual: 0.8
        case .half: 0.5
        }
    }
}
