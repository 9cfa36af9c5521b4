import Base
import Crypto
import Database
import HTTP
import Synchronization

/// The keys that are known: those of the configuration, and those of the database as a refresher brings them.
package final class KeyTable: Sendable {
    private struct Entry: Sendable {
        let digest: [UInt8]
        let key: APIKey
    }

    private struct Stored {
        var entries: [Entry] = []
        /// When keys were used, to the minute in ms since 1970, by id: what is not in the database yet.
        var uses: [String: Int64] = [:]
        /// The same, what is there.
        var noted: [String: Int64] = [:]
        var unknown = UnknownKeys()
    }

    private let configured: [Entry]
    private let stored = Mutex(Stored())
    private let clock: any WallClock

    /// - Parameter appKeys: public keys of one app each, by its id.
    package init(
        publicKeys: [Redacted<String>], secretKeys: [Redacted<String>], appKeys: [String: [Redacted<String>]] = [:],
        clock: any WallClock = SystemClock()
    ) {
        func entries(_ texts: [Redacted<String>], _ kind: APIKey.Kind, _ app: String? = nil) -> [Entry] {
            texts.map { Entry(digest: Digest.sha256(Array($0.exposed.utf8)), key: APIKey(kind: kind, app: app)) }
        }
        configured =
            entries(publicKeys, .public) + entries(secretKeys, .secret)
            + appKeys.sorted { $0.key < $1.key }.flatMap { entries($0.value, .public, $0.key) }
        self.clock = clock
    }

    /// Every key is compared, whole, so that the time tells nothing; nil if it is unknown.
    package func find(_ text: String) -> APIKey? {
        let digest = Digest.sha256(Array(text.utf8))
        var found: APIKey?
        for entry in configured + stored.withLock({ $0.entries }) where ConstantTime.equal(entry.digest, digest) {
            found = entry.key
        }
        return found
    }

    /// What a look at a request's key comes to.
    enum Admission {
        /// Whose call it is; nil for an open route.
        case admitted(APIKey?)
        /// The key is unknown: it may have been made just now.
        case unfamiliar
    }

    static let invalid = APIError(401, code: APIError.invalidKeyCode, "Invalid API Key.")

    /// - Throws: `APIError`: 401 without a key, 403 where it is not for this.
    func admit(_ head: HTTPRequestHead, to access: APIAccess) throws(APIError) -> Admission {
        if access == .open { return .admitted(nil) }
        guard let text = KeyTable.key(of: head) else { throw KeyTable.invalid }
        guard let key = find(text) else {
            if isUnknown(text) { throw KeyTable.invalid }
            return .unfamiliar
        }
        note(key)
        if key.kind == .secret, access == .publicKey || KeyTable.isApp(head) || CORSPolicy.isForeign(head) {
            throw APIError(403, code: 7243, "Secret API keys should not be used in your app.")
        }
        if case .secretKey = access, key.kind != .secret {
            throw APIError(403, code: APIError.invalidKeyCode, "This needs a secret API key.")
        }
        if access == .secretKey(.write) || access == .anyWritingKey, !key.mayWrite {
            throw APIError(403, code: APIError.invalidKeyCode, "This API key may only read.")
        }
        return .admitted(key)
    }

    private func isUnknown(_ text: String) -> Bool {
        let digest = Digest.sha256(Array(text.utf8))
        return stored.withLock { $0.unknown.contains(digest) }
    }

    /// Remembers that the database does not have this request's key.
    func noteUnknown(_ head: HTTPRequestHead) {
        guard let text = KeyTable.key(of: head) else { return }
        let digest = Digest.sha256(Array(text.utf8))
        stored.withLock { $0.unknown.insert(digest) }
    }

    /// With `Bearer` or without.
    private static func key(of head: HTTPRequestHead) -> String? {
        guard let value = head.header("authorization") else { return nil }
        let parts = value.split(separator: " ")
        if parts.count == 2, parts.first?.lowercased() == "bearer" { return parts.last.map(String.init) }
        return parts.count == 1 ? parts.first.map(String.init) : nil
    }

    /// RevenueCat's SDKs tell where they run: the bundle, or the system's version beside their own. A backend that only
    /// says for which platform it asks is none.
    private static func isApp(_ head: HTTPRequestHead) -> Bool {
        head.header("x-client-bundle-id") != nil
            || head.header("x-platform-version") != nil && head.header("x-version") != nil
    }

    // MARK: - The keys of the database

    /// Takes these in place of all before.
    func replace(_ keys: [StoredAPIKey]) {
        let entries = keys.compactMap { stored -> Entry? in
            // A scope of a later version opens nothing here.
            guard let kind = APIKey.Kind(rawValue: stored.kind.rawValue), let scope = APIScope(rawValue: stored.scope)
            else { return nil }
            return Entry(
                digest: stored.hash, key: APIKey(id: stored.id, kind: kind, app: stored.app, scope: scope))
        }
        let live = Set(keys.map(\.id))
        stored.withLock { state in
            state.entries = entries
            state.noted = state.noted.filter { live.contains($0.key) }
        }
    }

    private func note(_ key: APIKey) {
        guard let id = key.id else { return }
        let now = clock.now()
        let minute = now - now % 60_000
        stored.withLock { state in
            if (state.noted[id] ?? 0) < minute { state.uses[id] = minute }
        }
    }

    /// What is to be written of when keys were used, by id in ms since 1970.
    func takeUses() -> [String: Int64] {
        stored.withLock { state in
            let uses = state.uses
            state.uses = [:]
            state.noted.merge(uses) { max($0, $1) }
            return uses
        }
    }

    /// Could not be written: again next time.
    func giveBack(_ uses: [String: Int64]) {
        stored.withLock { state in
            state.uses.merge(uses) { max($0, $1) }
            for id in uses.keys { state.noted[id] = nil }
        }
    }
}
