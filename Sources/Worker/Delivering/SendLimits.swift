/// How many requests may be in flight.
package struct SendLimits: Sendable, Equatable {
    /// To one endpoint, from all workers together.
    package var perEndpoint: Int
    /// Of this worker, to all endpoints together.
    package var total: Int
    /// Workers that are alive, this one included.
    package var workers = 1

    package init(perEndpoint: Int = 8, total: Int = 256) {
        self.perEndpoint = max(1, perEndpoint)
        self.total = max(1, total)
    }

    /// This worker's part of what an endpoint may have in flight; never none, so that more workers than places have one
    /// each.
    package var share: Int { max(1, perEndpoint / max(1, workers)) }

    /// Places that endpoints which fail or are slow may hold together.
    package var forSuspects: Int { max(1, total / 2) }

    /// Whether an endpoint that has so many in flight may have one more while so many places are free: the fewer are
    /// left, the less each may take of them, so that many who hang at once leave some to the others (the dynamic
    /// thresholds of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). The last quarter is for those
    /// who have nothing in flight and whose last answer was a success.
    package func leavesRoom(inFlight: Int, free: Int, isProven: Bool) -> Bool {
        guard free > total / 4 else { return free > 0 && isProven && inFlight == 0 }
        return inFlight * total < 2 * share * free
    }
}
