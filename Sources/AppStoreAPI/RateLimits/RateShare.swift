/// How much of what Apple allows an app a process uses; all shares are said here. Processes do not know of each other's requests,
/// so that the shares which are usual at the same time fit into the limit together:
///
/// - A process and an import beside accounts that wait: 0.8 + 0.2.
/// - Accounts and an import that has not seen yet that they wait: 0.5 + 0.5.
/// - An import while no account waits: 0.5. The other half is for what customers and operators wait for, Apple's history and
///   refunds, which come one by one.
///
/// A rate that an operator names for an import keeps it below its share, and never above. Several processes with the first share
/// each may ask for more together; what Apple turns away then is asked later.
package enum RateShare: Sendable, Hashable {
    /// Everything that a process asks, unless something else is said of it: less than all, because other programs of the
    /// seller have the same limit.
    case process
    /// Accounts that a worker asks about for apps. It is part of the worker's share.
    case accounts
    /// An import, one of so many of the app that run now, which have one share together.
    case imports(count: Int, accountsWait: Bool)

    var part: Double {
        switch self {
        case .process: 0.8
        case .accounts: 0.5
        case .imports(let count, accountsWait: false): 0.5 / Double(max(1, count))
        case .imports(let count, accountsWait: true): 0.2 / Double(max(1, count))
        }
    }
}
