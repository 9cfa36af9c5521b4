/// The sizes of one run of a scenario, from its command or from the measurement that it is a part of.
struct BenchmarkOptions: Equatable {
    /// Distinct notifications.
    var count = 20_000
    var connections = 64
    /// Notifications in a second; 0: as fast as possible.
    var rate = 0.0
    var rounds = 5
    /// Where signed requests are kept for the next run; nil: in a file that goes at the end.
    var bodies: String?
    /// The daemon's program.
    var entitled = ""
    /// Further pending notifications behind the measured ones, and deliveries that wait for a retry.
    var backlog = 0
    /// Whether a drain ends with the backlog, not with the notifications before it.
    var drainsBacklog = false
    var retries = 0
    /// Over how many shards of a cluster the tables are distributed; nil: one Postgres.
    var shards: Int?
    /// Requests at once, of `send`; healthy consumers, of `neighbours`.
    var inFlight = 100
    var endpoints = 100
    /// Of `subscribers` and `console`.
    var customers = 1_000_000
    /// Of `history` and `crowd`; purchases of `crowd`, `grown` and `upgrade`.
    var facts = 10_000
    var purchases = 5_000_000
    /// Of `soak`.
    var minutes = 10
    /// Whether Postgres counts what each statement costs, which itself costs a little.
    var statements = false
    /// Of whole measurements: fewer and smaller scenarios.
    var quick = false
}
