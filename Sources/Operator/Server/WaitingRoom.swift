import Daemon

/// How many of the console's threads may stand still at once for what takes seconds: numbers that are counted, a worker's outcome.
/// The others answer what is quick, whatever is slow.
package final class WaitingRoom: Sendable {
    private struct State {
        var taken = 0
        /// Callers who wait for something that each may wait for once.
        var callers: Set<String> = []
    }

    private let limit: Int
    private let state = Monitor(State())

    package init(limit: Int) { self.limit = limit }

    /// Runs what waits, if there is room.
    ///
    /// - Parameters:
    ///   - caller: the operator, if each may wait for one at a time only; nil: as many as there is room for.
    ///   - body: gets whether it may wait. Without room it must not.
    package func wait<Result, Failure: Error>(
        as caller: String? = nil, _ body: (_ mayWait: Bool) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let mayWait = state.change { [limit] state -> Bool in
            guard state.taken < limit, caller.map({ !state.callers.contains($0) }) ?? true else { return false }
            state.taken += 1
            if let caller { state.callers.insert(caller) }
            return true
        }
        defer {
            if mayWait {
                state.change { state in
                    state.taken -= 1
                    if let caller { state.callers.remove(caller) }
                }
            }
        }
        return try body(mayWait)
    }
}
