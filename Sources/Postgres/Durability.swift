/// How durable a commit is before it is answered.
package enum Durability {
    /// An expression for a SELECT at the beginning of a transaction: the commit waits for the log on disk, and on the
    /// synchronous standbys that the server names, whatever its default is. What an operator set beyond that stays.
    ///
    /// The server's warnings are sent, since one of them says that a commit did not wait (`PostgresNotices`).
    ///
    /// Postgres: "synchronous_commit"; `on` asks for more than `remote_write`, `local` and `off`. "client_min_messages".
    package static let setting =
        "concat_ws(' ', set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
        + " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),"
        + " set_config('client_min_messages', 'warning', true))"
}
