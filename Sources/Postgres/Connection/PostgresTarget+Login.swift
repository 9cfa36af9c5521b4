import Base

extension PostgresTarget {
    /// Parameters of a connection that a login of another role needs as well.
    private static let kept = [
        "sslmode", "sslrootcert", "sslcrl", "channel_binding", "target_session_attrs", "options",
    ]

    /// A URL by which a role logs in to the same server with a password; in place of a unix socket, where passwords seldom
    /// count, it names `localhost`.
    ///
    /// - Parameters:
    ///   - user: a plain identifier.
    ///   - password: of letters and digits.
    ///   - database: a plain identifier.
    ///   - port: of the server, where the target names none.
    package func loginURL(
        user: String, password: String, database: String, port: String
    ) throws(PostgresError) -> String {
        let given = try parsed()
        func list(_ name: String) -> [String] {
            given[name].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
        }
        let (names, ports) = (list("host").isEmpty ? list("hostaddr") : list("host"), list("port"))
        let hosts = (names.isEmpty ? [""] : names).enumerated().map { place, name in
            let host = name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@") ? "localhost" : name
            let own = ports.count == 1 ? ports[0] : ports.indices.contains(place) ? ports[place] : ""
            return "\(host.contains(":") ? "[\(host)]" : host):\(own.isEmpty ? port : own)"
        }
        let parameters = PostgresTarget.kept.compactMap { name in
            given[name].map { "\(name)=\(PercentEncoding.encode($0))" }
        }
        return "postgres://\(user):\(password)@\(hosts.joined(separator: ","))/\(database)"
            + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    /// The name of the database, if the URL or connection string has one.
    package var database: String? { (try? parsed())?["dbname"] }

    /// The password of a URL or connection string, if it has one.
    package var password: String? { (try? parsed())?["password"] }
}
