import Base
import Synchronization

/// Which status a webhook consumer answers, told before it starts and while it runs.
package final class AnswerScript: Sendable {
    private struct State {
        var statuses: ArraySlice<Int>
        var attempts: [String: Int] = [:]
        var forced: (status: Int, left: Int?)?
    }

    private let failFirst: Int
    private let state: Mutex<State>
    /// Ids whose attempts are counted at most: it runs in demonstrations, for a long time perhaps.
    private static let idLimit = 100_000

    /// The first `failFirst` attempts of each event get 500; the first requests get `statuses`; all others 200.
    package init(failFirst: Int = 0, statuses: [Int] = []) {
        self.failFirst = failFirst
        state = Mutex(State(statuses: statuses[...]))
    }

    /// The answer to a request about the event `id`.
    package func answer(_ id: String) -> Int {
        state.withLock { state in
            if let forced = state.forced {
                if let left = forced.left {
                    state.forced = left > 1 ? (forced.status, left - 1) : nil
                }
                return forced.status
            }
            if let status = state.statuses.popFirst() { return status }
            guard failFirst > 0 else { return 200 }
            if state.attempts.count > AnswerScript.idLimit { state.attempts = [:] }
            state.attempts[id, default: 0] += 1
            return state.attempts[id, default: 0] <= failFirst ? 500 : 200
        }
    }

    /// `{"status":500}` from now on, `{"status":500,"count":3}` three times, `{"status":200}` well again. False for
    /// anything else.
    package func control(_ body: [UInt8]) -> Bool {
        guard let json = try? JSON(parsing: body), let status = json["status"]?.intValue, (100...599).contains(status)
        else { return false }
        let count = json["count"]?.intValue
        guard count.map({ $0 > 0 }) ?? true else { return false }
        state.withLock { state in
            state.statuses = []
            state.forced = status == 200 && count == nil ? nil : (Int(status), count.map { Int(clamping: $0) })
        }
        return true
    }
}
