import CLibpq
import Glibc

/// Connects to one of several hosts. libpq itself asks one after the other and waits the whole timeout for each that does not
/// answer, which after a failover may be as long as the failover itself.
///
/// Hosts are begun in their order: the next at once where one fails or is of another kind, and after `lead` where it does not
/// answer (RFC 8305, section 5, does so with addresses). The first that is connected is taken.
struct HostRace {
    private static let lead = Duration.milliseconds(250)

    typealias Keywords = [(name: String, value: String)]

    /// A connection that is being opened.
    private struct Runner {
        let handle: OpaquePointer
        let deadline: ContinuousClock.Instant
        /// What libpq waits for.
        var events = Int16(POLLOUT)
    }

    private var hosts: [Keywords]
    private let timeout: Duration
    private var begun = 0
    private var nextBegin = ContinuousClock.now
    private var runners: [Runner] = []
    private var failures: [String] = []

    /// - Parameters:
    ///   - hosts: keywords of libpq for each host.
    ///   - timeout: for each host.
    init(_ hosts: [Keywords], timeout: Duration) {
        self.hosts = hosts
        self.timeout = timeout
    }

    /// - Throws: why each of the hosts was not taken.
    mutating func run() throws(PostgresError) -> OpaquePointer {
        defer {
            for runner in runners { PQfinish(runner.handle) }
            runners = []
        }
        while true {
            beginDue()
            guard !runners.isEmpty else {
                throw PostgresError(.connection, String(failures.joined(separator: "; ").prefix(500)))
            }
            if let winner = step(readyAfterWait()) { return winner }
        }
    }

    /// Begins the next host where its turn has come.
    private mutating func beginDue() {
        while begun < hosts.count, runners.isEmpty || nextBegin <= .now {
            // A name may have addresses of which one does not answer.
            hosts.replaceSubrange(begun...begun, with: HostRace.addresses(of: hosts[begun]))
            let keywords = hosts[begun]
            begun += 1
            guard let handle = PostgresConnection.withLists(of: keywords, { PQconnectStartParams($0, $1, 0) }) else {
                failures.append("out of memory")
                continue
            }
            guard PQstatus(handle) != CONNECTION_BAD else {
                fail(handle)
                continue
            }
            nextBegin = .now + HostRace.lead
            runners.append(Runner(handle: handle, deadline: .now + timeout))
        }
    }

    private mutating func fail(_ handle: OpaquePointer) {
        failures.append(PostgresError.firstLine(PQerrorMessage(handle)))
        PQfinish(handle)
    }

    /// Waits for a socket, the next host's turn or a deadline; for each runner whether its socket is ready.
    private func readyAfterWait() -> [Bool] {
        var sockets = runners.map { pollfd(fd: PQsocket($0.handle), events: $0.events, revents: 0) }
        var until = runners.map(\.deadline).min() ?? .now
        if begun < hosts.count { until = min(until, nextBegin) }
        let left = max(.zero, until - .now)
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
        _ = poll(&sockets, nfds_t(sockets.count), Int32(clamping: milliseconds))
        return sockets.map { $0.revents != 0 }
    }

    /// The same for each address of the host; as it is where it has one, is a socket's folder, or is not known.
    private static func addresses(of keywords: Keywords) -> [Keywords] {
        let known = keywords.first { $0.name == "hostaddr" && !$0.value.isEmpty } != nil
        guard !known, let host = keywords.first(where: { $0.name == "host" })?.value, !host.isEmpty,
            !host.hasPrefix("/"), !host.hasPrefix("@")
        else { return [keywords] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [keywords] }
        defer { freeaddrinfo(list) }
        var found: [Keywords] = []
        var next = list
        while let address = next {
            next = address.pointee.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    address.pointee.ai_addr, address.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                    NI_NUMERICHOST) == 0
            else { continue }
            let numeric = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            found.append(keywords.filter { $0.name != "hostaddr" } + [(name: "hostaddr", value: numeric)])
        }
        return found.count > 1 ? found : [keywords]
    }

    /// Goes on with what is ready; the connection that is open.
    private mutating func step(_ isReady: [Bool]) -> OpaquePointer? {
        var winner: OpaquePointer?
        var left: [Runner] = []
        for (var runner, isReady) in zip(runners, isReady) {
            if winner != nil {
                left.append(runner)
            } else if isReady {
                switch PQconnectPoll(runner.handle) {
                case PGRES_POLLING_OK: winner = runner.handle
                case PGRES_POLLING_FAILED: fail(runner.handle)
                case PGRES_POLLING_READING:
                    runner.events = Int16(POLLIN)
                    left.append(runner)
                default:
                    runner.events = Int16(POLLOUT)
                    left.append(runner)
                }
            } else if runner.deadline <= .now {
                let host = PQhost(runner.handle).map { String(cString: $0) } ?? ""
                failures.append("connection to server at \"\(host)\" failed: timeout expired")
                PQfinish(runner.handle)
            } else {
                left.append(runner)
            }
        }
        runners = left
        return winner
    }
}

extension HostRace {
    /// Nil where libpq has to choose: there is one host, or one that is of the wrong kind may do.
    init?(_ keywords: Keywords) {
        var given: [String: String] = [:]
        for (name, value) in keywords { given[name] = value }
        func list(_ name: String) -> [String] {
            (given[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let count = max(list("host").count, list("hostaddr").count)
        let areSingle = ["host", "hostaddr", "port"].allSatisfy {
            given[$0] == nil || list($0).count == count || $0 == "port" && list($0).count == 1
        }
        // Of lists that do not fit, libpq says it.
        guard count > 1, areSingle, given["target_session_attrs"] != "prefer-standby" else { return nil }
        var order = Array(0..<count)
        if given["load_balance_hosts"] == "random" { order.shuffle() }
        let hosts = order.map { place in
            keywords.map { keyword in
                let values = list(keyword.name)
                let isList = ["host", "hostaddr", "port"].contains(keyword.name) && values.count == count
                return isList ? (name: keyword.name, value: values[place]) : keyword
            }
        }
        // libpq waits without end for 0, and at least two seconds.
        let seconds = given["connect_timeout"].flatMap { Int64($0) }.map { $0 <= 0 ? 86_400 : max(2, $0) }
        self.init(hosts, timeout: .seconds(seconds ?? 86_400))
    }
}
