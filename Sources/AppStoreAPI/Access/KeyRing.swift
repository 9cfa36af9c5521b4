import Base
import Crypto
import Synchronization

/// The keys of one app, the newest first: two while one replaces the other.
///
/// A key that works is used until Apple refuses it, but the newest is tried again now and then.
final class KeyRing: Sendable {
    private struct State {
        /// Which key works, unless it is the newest.
        var chosen = 0
        /// When the newest is tried again, in ms since 1970.
        var until: Int64 = 0
        var tokens: [Int: BearerToken] = [:]
    }

    /// How long another key than the newest is preferred.
    private static let preference: Int64 = 15 * 60 * 1000

    private let keys: [ServerAPIKey]
    private let bundleID: String
    private let state = Mutex(State())

    init(_ keys: [ServerAPIKey], bundleID: String) {
        self.keys = keys
        self.bundleID = bundleID
    }

    var count: Int { keys.count }

    func keyID(_ index: Int) -> String { keys.indices.contains(index) ? keys[index].keyID : "" }

    /// Which key to try first.
    func preferred(at now: Int64) -> Int {
        state.withLock { now < $0.until ? $0.chosen : 0 }
    }

    /// A token of that key, the same for some minutes.
    func token(_ index: Int, at now: Int64) throws(IssuingError) -> String {
        if let known = state.withLock({ $0.tokens[index] }), known.isGood(at: now) { return known.text }
        guard keys.indices.contains(index) else { return "" }
        let made = try BearerToken(keys[index], bundleID: bundleID, now: now)
        state.withLock { $0.tokens[index] = made }
        return made.text
    }

    /// Which key to try after that one was refused; nil when each of `refused` keys was.
    func next(after index: Int, refused: Int) -> Int? {
        refused < keys.count ? (index + 1) % keys.count : nil
    }

    /// Apple took this key. True if that is news: another than the newest serves from now on.
    func worked(_ index: Int, at now: Int64) -> Bool {
        state.withLock { state in
            if index == 0 {
                state.until = 0
                return false
            }
            let isNews = now >= state.until || state.chosen != index
            if isNews { state.until = now + KeyRing.preference }
            state.chosen = index
            return isNews
        }
    }
}
