import Base
import Database
import Postgres

/// Customers whose purchases lie on servers of a cluster of which one does not answer: the others' are answered.
extension SubscriberBatcher {
    private static let unavailable = PostgresError(
        .query, "a server of the cluster that has purchases of the customer does not answer", sqlstate: "08006")

    /// - Parameter servers: those that failed last time, each by one of its groups of lanes.
    func answer(_ batch: [Question], _ session: PostgresSession, _ servers: inout GroupRests) {
        // Where all answer, a batch is one statement.
        guard !servers.isAny else { return answerApart(batch, session, &servers) }
        do {
            try answerTogether(batch, session)
        } catch let error as PostgresError
            where (error.fault == .away || error.isTimeout) && !error.isConnectionLost && batch.count > 1
        {
            answerApart(batch, session, &servers, unless: error)
        } catch {
            answer(batch, after: error, session)
        }
    }

    /// By the servers that have purchases of theirs: what failed last time keeps no others waiting, and of one server it is known which
    /// it was.
    ///
    /// - Parameter former: what they failed with together, where they did.
    private func answerApart(
        _ batch: [Question], _ session: PostgresSession, _ servers: inout GroupRests,
        unless former: PostgresError? = nil
    ) {
        do {
            let (groups, lanes) = try session.withConnection { connection in
                (
                    connection.laneGroups,
                    try PurchaseLanes.lanes(ofCustomers: Set(batch.map(\.appUserID)), on: connection)
                )
            }
            if let former, groups.isOne { return answer(batch, after: former, session) }
            let parts = Dictionary(grouping: batch) { question in
                Set((lanes[question.appUserID] ?? []).compactMap { groups.neighbours(of: groups.group(of: $0)).first })
            }
            let order = parts.map { (asked: $0, questions: $1, isFailing: $0.contains(where: servers.isFailing)) }
                .sorted {
                    ($0.isFailing ? 1 : 0, $0.asked.count) < ($1.isFailing ? 1 : 0, $1.asked.count)
                }
            for (asked, questions, _) in order {
                guard !asked.contains(where: { servers.isResting($0) }) else {
                    refuse(questions, SubscriberBatcher.unavailable)
                    continue
                }
                let begun = ContinuousClock.now
                do {
                    try answerTogether(questions, session)
                    for server in asked { servers.succeeded(server) }
                } catch {
                    note(error, asked, groups, session, &servers, since: begun)
                    answer(questions, after: error, session)
                }
            }
        } catch {
            refuse(batch, error)
        }
    }

    /// Which of these servers it was.
    private func note(
        _ error: any Error, _ asked: Set<Int>, _ groups: LaneGroups, _ session: PostgresSession,
        _ servers: inout GroupRests, since begun: ContinuousClock.Instant
    ) {
        guard error.fault == .away || error.isTimeout, !error.isConnectionLost else { return }
        for server in asked where asked.count == 1 || !answers(server, groups, session) {
            servers.failed(server, of: groups, since: begun)
        }
    }

    /// Only what says that the server is away speaks against it, and not the loss of the session.
    private func answers(_ server: Int, _ groups: LaneGroups, _ session: PostgresSession) -> Bool {
        guard let lane = Lane.all.first(where: { groups.group(of: $0) == server }) else { return true }
        do {
            _ = try session.withConnection { connection in try Fence.look(at: [lane], on: connection) }
            return true
        } catch {
            return error.isConnectionLost || error.fault != .away && !error.isTimeout
        }
    }
}
