import AppStore
import Base
import Database
import Subscriptions
import Synchronization

/// The ids of transactions that Apple did not know a short time ago, by app and environment, in bounded memory: naming
/// one again and again causes no calls to Apple.
final class UnknownTransactions: Sendable {
    private struct Key: Hashable {
        let id: String
        let place: AppScope
    }

    private struct State {
        /// Until when they are confirmed to be unknown.
        var recent: [Key: ContinuousClock.Instant] = [:]
        var older: [Key: ContinuousClock.Instant] = [:]
    }

    /// As long as a purchase may take to be known to all of Apple's servers, roughly.
    static let lifetime = Duration.seconds(180)
    /// In each of two generations; an id has 64 bytes at most.
    static let generation = 8192

    private let state = Mutex(State())

    /// Whether Apple does not know the id in any of these places.
    func has(_ id: String, _ places: [AppScope]) -> Bool {
        let now = ContinuousClock.now
        return !places.isEmpty
            && state.withLock { state in
                places.map { Key(id: id, place: $0) }.allSatisfy { key in
                    (state.recent[key] ?? state.older[key]).map { $0 > now } ?? false
                }
            }
    }

    func note(_ id: String, _ places: [AppScope]) {
        let end = ContinuousClock.now + UnknownTransactions.lifetime
        state.withLock { state in
            if state.recent.count + places.count > UnknownTransactions.generation {
                state.older = state.recent
                state.recent = [:]
            }
            for place in places { state.recent[Key(id: id, place: place)] = end }
        }
    }

    func forget(_ id: String, _ places: [AppScope]) {
        state.withLock { state in
            for key in places.map({ Key(id: id, place: $0) }) {
                state.recent[key] = nil
                state.older[key] = nil
            }
        }
    }

    var count: Int { state.withLock { $0.recent.count + $0.older.count } }
}
