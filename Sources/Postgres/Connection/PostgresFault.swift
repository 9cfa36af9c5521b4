/// Whose trouble an error of Postgres is.
package enum PostgresFault: String, Sendable, CaseIterable {
    /// The server is away, or not the one that takes writes: a new connection may find it.
    case away
    /// It passes, or it is the server's own: the same work, done again, may succeed. Where it happens again and again for the same
    /// work and for no other, it is the work's.
    case passing
    /// What the statement was given cannot be stored or computed.
    case work
    /// Neither this work's nor passing: the schema, a right, the program.
    case setup
}
