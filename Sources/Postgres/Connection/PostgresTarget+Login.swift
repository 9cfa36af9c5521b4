import Base

extension PostgresTarget {
    /// Parameters of a connection that a login of another role needs as well.
    private static let kept = [
        "sslmode", "sslrootcert", "sslcrl", "channel_binding", "target_session_attrs", "options",
    ]

    /// A URL by which a role logs in to the same server with a password; in place of a unix socket, where passwords seldom
    /// count, it names `localhost`.
    ///
    /// - Parameter port: of the server, where the target names none.
    package func loginURL(
        user: String, password: String, database: String, port: String
    ) throws(PostgresError) -> String {
        let given = try parsed()
        let hosts = try servers(port: port).map { server in
            "\(server.host.contains(":") ? "[\(server.host)]" : server.host):\(server.port)"
        }
        let parameters = PostgresTarget.kept.compactMap { name in
            given[name].map { "\(name)=\(PercentEncoding.encode($0))" }
        }
        let (login, place) = ([user, password].map(PercentEncoding.encode), PercentEncoding.encode(database))
        return "postgres://\(login.joined(separator: ":"))@\(hosts.joined(separator: ","))/\(place)"
            + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    /// The URL or connection string with another password, and everything else as it is.
    ///
    /// - Parameter password: letters and digits.
    /// - Returns: nil where the password stands in an unusual place.
    package func replacing(password: String) throws(PostgresError) -> String? {
        let text = url.exposed
        let inURL = /postgres(?:ql)?:\/\/[^:@\/]*:(?<password>[^@\/]*)@.*/
        let inList = /(?:.*\s)?password\s*=\s*(?<password>'(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?:\s.*)?/
        let match = try? inURL.wholeMatch(in: text)?.password ?? inList.wholeMatch(in: text)?.password
        guard let match else { return nil }
        let changed = String(text[..<match.startIndex]) + password + String(text[match.endIndex...])
        var wanted = try parsed()
        wanted["password"] = password
        return try PostgresTarget(url: changed).parsed() == wanted ? changed : nil
    }

    /// The servers that the URL names, in its order; a unix socket is one of `localhost`.
    ///
    /// - Parameter port: where the target names none.
    package func servers(port: String) throws(PostgresError) -> [(host: String, port: String)] {
        let given = try parsed()
        func list(_ name: String) -> [String] {
            given[name].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
        }
        let (names, ports) = (list("host").isEmpty ? list("hostaddr") : list("host"), list("port"))
        return (names.isEmpty ? [""] : names).enumerated().map { place, name in
            let host = name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@") ? "localhost" : name
            let own = ports.count == 1 ? ports[0] : ports.indices.contains(place) ? ports[place] : ""
            return (host, own.isEmpty ? port : own)
        }
    }

    /// The role that logs in, if the URL or connection string names one.
    package var user: String? { (try? parsed())?["user"] }

    /// The name of the database, if the URL or connection string has one.
    package var database: String? { (try? parsed())?["dbname"] }

    /// The password of a URL or connection string, if it has one.
    package var password: String? { (try? parsed())?["password"] }
}
