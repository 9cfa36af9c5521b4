/// Why a process does not work with the server that it has reached, though another host of the URL may do.
package struct PostgresRefusal: Error, Sendable, CustomStringConvertible {
    /// As the URL names it.
    let host: String
    let port: String
    private let reason: String

    package init(_ connection: PostgresConnection, because reason: String) {
        host = connection.host
        port = connection.port
        self.reason = reason
    }

    package var description: String { "the database at \(host):\(port) is refused: \(reason)" }
}

extension PostgresConnection {
    /// Connects to the first host of the target that `prepare` does not refuse.
    ///
    /// - Parameter onRefusal: gets each refusal, also where another host is taken then.
    /// - Throws: what `prepare` throws; a refusal as a `PostgresError` of kind `connection`, since the right server may come
    ///   back.
    package static func open(
        _ target: PostgresTarget, canceller: PostgresCanceller = PostgresCanceller(),
        onRefusal: (PostgresRefusal) -> Void = { _ in },
        prepare: (PostgresConnection) throws -> Void
    ) throws -> PostgresConnection {
        var target = target
        var first: PostgresRefusal?
        while true {
            do {
                let connection = try PostgresConnection(target, canceller: canceller)
                try prepare(connection)
                return connection
            } catch let refusal as PostgresRefusal {
                onRefusal(refusal)
                first = first ?? refusal
                guard target.exclude(host: refusal.host, port: refusal.port) else {
                    throw PostgresError(.connection, (first ?? refusal).description)
                }
            } catch let error as PostgresError where error.isConnectionLost {
                // That one server is away says less than that another one is refused.
                throw first.map { PostgresError(.connection, $0.description) } ?? error
            }
        }
    }
}
