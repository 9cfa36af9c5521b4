import CLibpq
import Glibc

extension PostgresConnection {
    /// Connects again to learn the SQLSTATEs with which servers refuse the login, in the order of the attempts. libpq tells
    /// them of a connection only in a form of its messages that has to be asked for before the server answers.
    ///
    /// - Returns: none where no server refuses it: it is let in now, or no server answers within twice the connect timeout.
    package static func refusals(of target: PostgresTarget) throws(PostgresError) -> [String] {
        let keywords = try target.keywords()
        guard let handle = withLists(of: keywords, { PQconnectStartParams($0, $1, 0) }) else {
            throw PostgresError(.connection, "out of memory")
        }
        defer { PQfinish(handle) }
        guard PQstatus(handle) != CONNECTION_BAD else { return [] }
        PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
        let end = ContinuousClock.now + target.connectTimeout * 2
        var state = PGRES_POLLING_WRITING
        while state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING {
            let left = (end - .now).components
            guard left.seconds >= 0, left.attoseconds >= 0 else { return [] }
            let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
            var socket = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
            if poll(&socket, 1, Int32(clamping: left.seconds * 1000 + 1)) > 0 { state = PQconnectPoll(handle) }
        }
        guard state == PGRES_POLLING_FAILED, let message = PQerrorMessage(handle) else { return [] }
        // "connection to server at … failed: FATAL:  28P01", a line for each attempt.
        return String(cString: message).split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /.*: +([0-9A-Z]{5})/).map { String($0.1) }
        }
    }
}
