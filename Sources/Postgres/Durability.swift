/// How durable a commit is before it is answered.
package enum Durability {
    /// An expression for a SELECT at the beginning of a transaction: the commit waits for the log on disk, and on the
    /// synchronous standbys that the server names, whatever its default is. What an operator set beyond that stays.
    ///
    /// Postgres: "synchronous_commit"; `on` asks for more than `remote_write`, `local` and `off`.
    package static let setting =
        "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply'"
        + " ELSE 'on' END, true)"
}
