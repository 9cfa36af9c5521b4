import Base
import Database
import Postgres
import Subscriptions

/// How long the first event of a purchase waits for the name of its buyer (`apps[].owner_wait`).
///
/// Apple's notification often comes before the app's post. The record is there at once; told of it is when a post names the
/// buyer, or when the wait ends. Until then nothing was told of the purchase, so what is told follows from all its facts.
package struct OwnerWait: Sendable {
    /// What is set for an app.
    package enum Setting: Sendable, Equatable {
        /// Two minutes where posts of the app came in lately, else not at all.
        case automatic
        /// ms; 0: not at all.
        case fixed(Int64)
    }

    private let settings: [String: Setting]
    private let ignoresTokens: Set<String>
    private let foldSettings: FoldSettings

    static let automatic: Int64 = 120_000
    /// How long ago the last post of an app may be for its posts to count as coming in, in ms.
    static let lately: Int64 = 7 * 86_400_000

    /// - Parameters:
    ///   - settings: by the ids of apps; others do not wait.
    ///   - ignoresTokens: apps whose tokens are no app user ids.
    ///   - foldSettings: what the configuration adds to facts.
    package init(
        settings: [String: Setting] = [:], ignoresTokens: Set<String> = [], foldSettings: FoldSettings = FoldSettings()
    ) {
        self.settings = settings
        self.ignoresTokens = ignoresTokens
        self.foldSettings = foldSettings
    }

    /// Decides of each purchase whether its first event is told now, and what is told of those that waited. Their facts are in the
    /// database.
    ///
    /// - Returns: the places of those that waited, and of which everything is told now.
    func decide(_ works: inout [PurchaseWork], now: Int64, on connection: PostgresConnection) throws -> [Int] {
        var isActive: [AppScope: Bool] = [:]
        var released: [Int] = []
        for place in works.indices where !works[place].key.isGrant {
            let work = works[place]
            let claims = work.claims ?? work.member?.claims
            let isNamed = claims.map { names($0, in: work.key.app) } ?? true
            if let member = work.member {
                guard let tell = member.tell else { continue }
                if isNamed || tell <= now { released.append(place) } else { works[place].tell = tell }
                continue
            }
            guard !isNamed, let origin = work.firstSent, work.drafts.contains(where: { !$0.isForTheRecord }) else {
                continue
            }
            let until = origin.arrived + (try wait(for: work.key, now: now, &isActive, on: connection))
            if until > now { works[place].tell = until }
        }
        guard !released.isEmpty else { return [] }
        let arrivals = try ArrivalQuery.origins(of: released.map { works[$0].key }, on: connection)
        for (place, arrivals) in zip(released, arrivals) { works[place].drafts = drafts(works[place], arrivals, now) }
        return released
    }

    private func names(_ claims: PurchaseClaims, in app: String) -> Bool {
        !claims.posts.isEmpty || !claims.assignments.isEmpty || !claims.tokens.isEmpty && !ignoresTokens.contains(app)
    }

    private func wait(
        for key: PurchaseKey, now: Int64, _ isActive: inout [AppScope: Bool], on connection: PostgresConnection
    ) throws -> Int64 {
        switch settings[key.app] {
        case nil: return 0
        case .fixed(let wait): return wait
        case .automatic: break
        }
        let scope = AppScope(app: key.app, environment: key.environment)
        if isActive[scope] == nil {
            let last = try AppPostTable.last(of: scope, on: connection)
            isActive[scope] = last.map { $0 > now - OwnerWait.lately } ?? false
        }
        return isActive[scope] == true ? OwnerWait.automatic : 0
    }

    /// Everything that there is to tell of a purchase of which nothing was told.
    private func drafts(
        _ work: PurchaseWork, _ arrivals: [(origin: NotificationOrigin, arrival: PurchaseArrival)], _ now: Int64
    ) -> [PurchaseWork.Draft] {
        var facts = PurchaseFacts()
        var before: Purchase?
        var told: Set<String> = []
        var drafts: [PurchaseWork.Draft] = []
        let deriver = EventDeriver(confirmation: work.confirmation)
        for (origin, arrival) in arrivals {
            facts.formUnion(arrival.facts)
            guard let after = Purchase(folding: facts, key: work.key, foldSettings: foldSettings) else { continue }
            let signed = arrival.facts.newestSigned ?? origin.arrived
            drafts += deriver.changes(before: before, after: after, cause: arrival.cause, now: now).filter {
                told.insert("\($0.type.rawValue)|\($0.cause)").inserted
            }.map {
                PurchaseWork.Draft(
                    event: $0, isForTheRecord: origin.isForTheRecord($0, of: after, signed: signed), cause: work.cause)
            }
            before = after
        }
        guard work.isQuiet, let after = work.purchase else { return drafts }
        return drafts
            + deriver.ends(before: nil, after: after, now: now).map {
                PurchaseWork.Draft(event: $0, isForTheRecord: false, cause: work.cause)
            }
    }
}
