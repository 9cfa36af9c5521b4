import Base
import Daemon

/// A bounded queue of work for several threads: round robin over owners, first in first out for each owner.
///
/// A bounded owner holds only a part of the threads at a time, so that other owners get a thread at once even while all
/// work of that owner is slow. Work about one Apple account runs one piece at a time: in parallel it would only wait
/// for its own locks.
///
/// The account that a request names may be forged. So each owner of work has places of their own to wait for an account:
/// forgeries take none from others, and delay them by the checks of some signatures at most.
final class BoundedQueue<Work: Sendable>: Sendable {
    /// What a bounded owner may hold.
    struct Part: Sendable {
        /// Pieces of work at the same time.
        let busy: Int
        /// Pieces that wait.
        let waiting: Int
        /// Of these about one Apple account, as the owner says.
        let waitingOfAccount: Int
    }

    fileprivate struct Piece {
        let work: Work
        let share: WorkShare
    }

    fileprivate struct State {
        /// By owner; none is empty.
        var waiting: [UInt64: [Piece]] = [:]
        /// The owners of what waits; the first has the next turn.
        var turns: [UInt64] = []
        var count = 0
        var busy = 0
        var busyOwners: [UInt64: Int] = [:]
        var busyAccounts: Set<UInt64> = []
        var waitingClaims: [AccountClaim: Int] = [:]
        var isEnding = false
    }

    private let state = Monitor(State())
    private let limit: Int
    private let part: Part

    /// - Parameter limit: how much waits at most.
    init(limit: Int, part: Part) {
        (self.limit, self.part) = (limit, part)
    }

    /// False where there is no room.
    ///
    /// - Parameter goesOn: whether it ends what was begun: that has to find room as long as there is any.
    func add(_ work: Work, as share: WorkShare, goesOn: Bool = false) -> Bool {
        state.change { state in
            guard state.count < limit, goesOn || state.hasRoom(share, part) else { return false }
            if state.waiting[share.owner] == nil { state.turns.append(share.owner) }
            state.waiting[share.owner, default: []].append(Piece(work: work, share: share))
            state.count += 1
            if let claim = AccountClaim(share) { state.waitingClaims[claim, default: 0] += 1 }
            return true
        }
    }

    /// Runs what comes until the line ends and is empty.
    func run(_ body: (Work) -> Void) {
        while let piece = take() {
            body(piece.work)
            state.change { $0.finish(piece.share) }
        }
    }

    private func take() -> Piece? {
        let taken = state.wait { state -> Piece?? in
            if let piece = state.next(part) { return .some(piece) }
            return state.isEnding && state.count == 0 ? .some(nil) : nil
        }
        return taken ?? nil
    }

    /// Whether all was done before the deadline; the threads end then.
    func end(until deadline: ContinuousClock.Instant) -> Bool {
        state.change { $0.isEnding = true }
        return state.wait(timeout: max(.zero, deadline - .now)) { $0.count == 0 && $0.busy == 0 ? true : nil } ?? false
    }
}

extension BoundedQueue.State {
    fileprivate func hasRoom(_ share: WorkShare, _ part: BoundedQueue.Part) -> Bool {
        guard share.isBounded else { return true }
        if let claim = AccountClaim(share), waitingClaims[claim, default: 0] >= part.waitingOfAccount { return false }
        return waiting[share.owner]?.count ?? 0 < part.waiting
    }

    /// Takes what is to be done next; nil: nothing waits that may be done now.
    fileprivate mutating func next(_ part: BoundedQueue.Part) -> BoundedQueue.Piece? {
        for (turn, owner) in turns.enumerated() {
            guard let place = waiting[owner]?.firstIndex(where: { mayBegin($0.share, part) }),
                let piece = waiting[owner]?.remove(at: place)
            else { continue }
            turns.remove(at: turn)
            if waiting[owner]?.isEmpty ?? true {
                waiting[owner] = nil
            } else {
                turns.append(owner)
            }
            begin(piece.share)
            return piece
        }
        return nil
    }

    private func mayBegin(_ share: WorkShare, _ part: BoundedQueue.Part) -> Bool {
        if let account = share.account, busyAccounts.contains(account) { return false }
        return !share.isBounded || busyOwners[share.owner, default: 0] < part.busy
    }

    private mutating func begin(_ share: WorkShare) {
        count -= 1
        busy += 1
        if share.isBounded { busyOwners[share.owner, default: 0] += 1 }
        guard let account = share.account, let claim = AccountClaim(share) else { return }
        busyAccounts.insert(account)
        waitingClaims[claim, default: 1] -= 1
        if waitingClaims[claim] == 0 { waitingClaims[claim] = nil }
    }

    fileprivate mutating func finish(_ share: WorkShare) {
        busy -= 1
        if share.isBounded {
            busyOwners[share.owner, default: 1] -= 1
            if busyOwners[share.owner] == 0 { busyOwners[share.owner] = nil }
        }
        if let account = share.account { busyAccounts.remove(account) }
    }
}

/// An Apple account that an owner of work names.
private struct AccountClaim: Hashable {
    let owner: UInt64
    let account: UInt64

    /// Nil for work that names none.
    init?(_ share: WorkShare) {
        guard let account = share.account else { return nil }
        (owner, self.account) = (share.owner, account)
    }
}
