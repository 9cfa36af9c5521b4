/// Metrics of the database, and of the servers over which its tables are distributed. All but the first are there on a cluster alone;
/// every worker reports the same values, of which the greatest is to be used.
extension Metric {
    package static let databaseStatements = Metric(
        "entitled_database_statements_total", .counter,
        "Statements that this process sent to Postgres, those of a batch one by one, `BEGIN` and `COMMIT` included.")
    package static let clusterServers = Metric(
        "entitled_cluster_servers", .gauge, labels: ["server", "state"],
        "Servers of the cluster, the coordinator included, 1 for the state that each is in: `up`, `away` where it does not answer the"
            + " coordinator, `disabled` by an operator.")
    package static let clusterShards = Metric(
        "entitled_cluster_shards", .gauge, labels: ["server"], "Shards of lanes on a server of the cluster.")
    package static let clusterBytes = Metric(
        "entitled_cluster_bytes", .gauge, labels: ["server"],
        "Bytes on disk of the database on a server of the cluster; one that is away keeps its last value.")
    package static let clusterPreparedLeft = Metric(
        "entitled_cluster_prepared_left", .gauge, labels: ["server"],
        "Transactions that a server prepared over a minute ago and has not ended; their locks stay. One that is away keeps its last"
            + " value.")
    package static let clusterPreparedSeconds = Metric(
        "entitled_cluster_prepared_oldest_seconds", .gauge, labels: ["server"],
        "Age of the oldest prepared transaction of a server; 0 without one. One that is away keeps its last value.")
    package static let clusterPrepares = Metric(
        "entitled_cluster_prepares_total", .counter,
        "Transactions that servers prepared for commits in two phases, by the statistics of the coordinator: a commit over two servers"
            + " counts two. Those of other programs count too.")

    static let cluster = [
        databaseStatements, clusterServers, clusterShards, clusterBytes, clusterPreparedLeft, clusterPreparedSeconds,
        clusterPrepares,
    ]
}
