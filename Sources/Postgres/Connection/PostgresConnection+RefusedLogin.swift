import CLibpq
import Glibc

/// Why a server refuses a login that it could judge (Postgres manual, appendix A).
package enum LoginRefusal: String, Sendable, CaseIterable {
    /// The password is not the role's, or the role has none that is valid, or there is no such role.
    case password = "28P01"
    /// The role and its password are right, and the database is not there.
    case noDatabase = "3D000"
    /// There is no such role, it may not log in, or `pg_hba.conf` does not let it in.
    case notAllowed = "28000"
}

extension PostgresConnection {
    /// Connects again, to each host of the target by itself, to learn with which SQLSTATE servers refuse the login. libpq tells
    /// it of a connection only in a form of its messages that has to be asked for before the server answers.
    ///
    /// - Returns: how every server that is reachable refuses it; nil where one lets it in or answers otherwise, where they refuse
    ///   it for different reasons, and where none is reachable within twice the connect timeout.
    package static func refusal(of target: PostgresTarget) throws(PostgresError) -> LoginRefusal? {
        var found: LoginRefusal?
        for host in try target.ofEachHost() {
            switch try answer(of: host) {
            case .away: continue
            case .refuses(let refusal) where found == nil || found == refusal: found = refusal
            case .refuses, .other: return nil
            }
        }
        return found
    }

    private enum Answer {
        /// Nothing listens there.
        case away
        case refuses(LoginRefusal)
        case other
    }

    private static func answer(of target: PostgresTarget) throws(PostgresError) -> Answer {
        let keywords = try target.keywords()
        guard let handle = withLists(of: keywords, { PQconnectStartParams($0, $1, 0) }) else {
            throw PostgresError(.connection, "out of memory")
        }
        defer { PQfinish(handle) }
        guard PQstatus(handle) != CONNECTION_BAD else { return .away }
        PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
        let end = ContinuousClock.now + target.connectTimeout * 2
        var state = PGRES_POLLING_WRITING
        var isReached = false
        while state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING {
            let left = (end - .now).components
            guard left.seconds >= 0, left.attoseconds >= 0 else { return isReached ? .other : .away }
            let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
            var socket = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
            if poll(&socket, 1, Int32(clamping: left.seconds * 1000 + 1)) > 0 { state = PQconnectPoll(handle) }
            let status = PQstatus(handle)
            if status != CONNECTION_STARTED, status != CONNECTION_NEEDED, status != CONNECTION_BAD { isReached = true }
        }
        guard state == PGRES_POLLING_FAILED, let message = PQerrorMessage(handle) else { return .other }
        // "connection to server at … failed: FATAL:  28P01", a line for each attempt.
        let states = String(cString: message).split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /.*: +([0-9A-Z]{5})/).map { String($0.1) }
        }
        if states.isEmpty { return isReached ? .other : .away }
        let refusals = states.compactMap(LoginRefusal.init)
        // Of a server with TLS libpq asks once more without, which pg_hba.conf may not allow: the first answer counts.
        guard refusals.count == states.count,
            let refusal = LoginRefusal.allCases.first(where: { refusals.contains($0) })
        else { return .other }
        return .refuses(refusal)
    }
}
