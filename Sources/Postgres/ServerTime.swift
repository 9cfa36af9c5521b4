/// The server's clock in statements.
package enum ServerTime {
    /// The moment, for statements that change rows: a cluster takes only what is the same for a whole statement there.
    package static let instant = "/* cluster: statement_timestamp() for: */clock_timestamp()/* end */"
}

extension PostgresConnection {
    /// The server's clock at this moment, in ms since 1970: not the beginning of the transaction, which waited for locks since.
    package func serverTime() throws -> Int64 {
        try query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms").one().int("now_ms")
    }
}
