import Base
import CLibpq

/// Where to connect, and as whom.
package struct PostgresTarget: Sendable, Equatable {
    /// As libpq's `target_session_attrs` names them.
    package enum ServerKind: String, Sendable {
        case primary = "read-write"
        case standby
    }

    /// A libpq connection string or URL; several hosts are tried in order (`HostRace`).
    package let url: Redacted<String>
    /// The role taken at the start of the connection (`options=-c role=…`); PgBouncer drops it.
    package private(set) var role: String?
    /// As `pg_stat_activity` shows the connection, unless the URL says otherwise.
    package private(set) var applicationName: String
    /// For each host; whole seconds, at least two, because libpq counts so.
    package private(set) var connectTimeout: Duration
    /// Which of several hosts is meant, where the URL does not say.
    package let prefers: ServerKind
    /// In place of the one of the URL; nil: that one.
    private var otherDatabase: String?
    /// Hosts of the URL that are left out, each with its port.
    private var excluded: Set<[String]> = []
    /// The place of the only host that is meant; nil: all of them.
    private var place: Int?

    package init(
        url: String, role: String? = nil, applicationName: String = "entitled", connectTimeout: Duration = .seconds(5),
        prefers: ServerKind = .primary
    ) {
        self.url = Redacted(url)
        self.role = role
        self.applicationName = applicationName
        self.connectTimeout = connectTimeout
        self.prefers = prefers
    }

    /// The keywords for libpq: the URL's own, and what it leaves open.
    ///
    /// A dead peer is noticed after about ten seconds. Of several hosts the one of the kind that is meant is taken.
    package func keywords() throws(PostgresError) -> [(name: String, value: String)] {
        var given = try parsed()
        try check(given)
        given["client_encoding"] = "UTF8"
        if let otherDatabase { given["dbname"] = otherDatabase }
        let hosts = given["host"] ?? given["hostaddr"] ?? ""
        if !excluded.isEmpty { given = remaining(given) }
        if let place { given = PostgresTarget.only(place, of: given) }
        let defaults = [
            ("application_name", applicationName),
            ("connect_timeout", String(max(2, connectTimeout.components.seconds))),
            ("tcp_user_timeout", "10000"),
            ("keepalives", "1"), ("keepalives_idle", "5"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
            ("target_session_attrs", hosts.contains(",") ? prefers.rawValue : "any"),
        ]
        for (name, value) in defaults where given[name] == nil {
            given[name] = value
        }
        if let role {
            let option = "-c role=" + PostgresTarget.escaped(role)
            given["options"] = given["options"].map { "\($0) \(option)" } ?? option
        }
        return given.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    /// The same as the login role, for asking what a statement waits for.
    func forWaits() -> PostgresTarget {
        var target = with(connectTimeout: .seconds(3))
        target.role = nil
        target.applicationName = "entitled waits"
        return target
    }

    func with(connectTimeout: Duration) -> PostgresTarget {
        var target = self
        target.connectTimeout = connectTimeout
        return target
    }

    /// Whether of several hosts the one is taken that accepts writes.
    var isForPrimary: Bool {
        let kind = try? keywords().first { $0.name == "target_session_attrs" }?.value
        return kind == ServerKind.primary.rawValue || kind == "primary"
    }

    /// The same with another database of the server; nil changes nothing.
    package func with(database: String?) -> PostgresTarget {
        var target = self
        if let database { target.otherDatabase = database }
        return target
    }

    /// The same for each host alone, whatever kind of server it is: where libpq is refused by one of several, it does not ask
    /// the next.
    func ofEachHost() throws(PostgresError) -> [PostgresTarget] {
        let given = try parsed()
        let hosts = (given["host"] ?? given["hostaddr"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        return hosts.indices.map { place in
            var target = self
            target.place = place
            return target
        }
    }

    /// The same for one of its hosts alone, whatever kind of server it is; nil: it is none of them.
    func only(_ server: ServerAddress) -> PostgresTarget? {
        try? ofEachHost().first { target in
            let keywords = Dictionary(try target.keywords().map { ($0.name, $0.value) }) { one, _ in one }
            return (keywords["host"] ?? keywords["hostaddr"]) == server.host
                && (keywords["port"] ?? server.port) == server.port
        }
    }

    private static func only(_ place: Int, of given: [String: String]) -> [String: String] {
        var only = given
        for name in ["host", "hostaddr", "port"] {
            let values = (given[name] ?? "").split(separator: ",", omittingEmptySubsequences: false)
            guard values.count > 1, values.indices.contains(place) else { continue }
            only[name] = String(values[place])
        }
        only["target_session_attrs"] = "any"
        return only
    }

    /// Leaves a host out; false where none would be left, or it is not one of several.
    mutating func exclude(host: String, port: String) -> Bool {
        // A URL that cannot be read has led to no host; connecting says why.
        guard let given = try? parsed() else { return false }
        let before = remaining(given)["host"] ?? remaining(given)["hostaddr"]
        excluded.insert([host, port])
        let after = remaining(given)["host"] ?? remaining(given)["hostaddr"]
        return after != before && after?.isEmpty == false
    }

    /// The lists of hosts, addresses and ports without those that are left out.
    private func remaining(_ given: [String: String]) -> [String: String] {
        func list(_ name: String) -> [String]? {
            given[name]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        guard let hosts = list("host") ?? list("hostaddr") else { return given }
        let ports = list("port") ?? []
        func port(_ place: Int) -> String {
            ports.count == 1 ? ports[0] : ports.indices.contains(place) ? ports[place] : ""
        }
        // Without a port in the URL it comes from elsewhere, and is the same for all hosts.
        let kept = hosts.indices.filter { place in
            !excluded.contains { $0[0] == hosts[place] && (port(place).isEmpty || $0[1] == port(place)) }
        }
        var remaining = given
        for name in ["host", "hostaddr", "port"] {
            guard let values = list(name), values.count == hosts.count else { continue }
            remaining[name] = kept.map { values[$0] }.joined(separator: ",")
        }
        return remaining
    }

    /// libpq's own texts about a URL quote it, and with it the password: so they are not passed on.
    package func parsed() throws(PostgresError) -> [String: String] {
        guard !url.exposed.utf8.contains(0), let options = PQconninfoParse(url.exposed, nil) else {
            throw PostgresError(
                .configuration,
                "the connection string is not a postgresql:// URL or libpq key=value list; "
                    + "in a URL, reserved characters of user names and passwords are written %XX")
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return values
    }

    /// A password with an unescaped `@` or `/` ends up among hosts and ports, which libpq's messages quote.
    private func check(_ values: [String: String]) throws(PostgresError) {
        let ports = (values["port"] ?? "").split(separator: ",")
        let areNumbers = ports.allSatisfy { UInt16($0).map { $0 > 0 } ?? false }
        guard areNumbers, !(values["host"] ?? "").contains("@") || (values["host"] ?? "").hasPrefix("@") else {
            throw PostgresError(
                .configuration,
                "the connection string has an invalid host or port; "
                    + "in a URL, reserved characters of user names and passwords are written %XX")
        }
    }

    /// As the server splits `options`: at spaces, unless a backslash precedes them.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if character == " " || character == "\\" { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }
}
