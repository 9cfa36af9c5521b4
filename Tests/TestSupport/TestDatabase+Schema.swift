import Base
import Postgres
import Schemas

extension TestCluster {
    /// A new database with the schema of this program. Its owners get the same ids as in every other one, so that what
    /// becomes of the same notifications can be compared.
    ///
    /// It is a copy of one that was migrated once: running all migrations for each test took more time than the tests.
    ///
    /// - Parameter shards: over how many shards of the cluster its tables are distributed; nil: they are not.
    package func makeMigratedDatabase(
        in tablespace: String? = nil, shards: Int? = TestServers.wantedShards
    ) throws -> TestDatabase {
        let template = try template.get {
            let template = try makeDatabase()
            let connection = try template.connect()
            _ = try Migrator.migrate(on: connection)
            _ = try connection.query("UPDATE entitled.owner_salt SET salt = 'a salt of tests'")
            if let shards {
                TestServers.followShards()
                _ = try Distribution.distribute(over: shards, on: connection)
                try close(template)
            } else if let shards = ImitatedServers.wantedShards {
                TestServers.followShards()
                try ImitatedServers.imitate(shards, on: connection)
            }
            return template
        }
        let database = try makeDatabase(in: tablespace, from: template)
        // The privileges on the database itself and its settings are not copied; the migrator grants the former.
        if shards != nil {
            try database.execute("ALTER DATABASE \(database.name) SET citus.multi_shard_modify_mode = 'sequential'")
        }
        _ = try Migrator.migrate(on: database.connect())
        return database
    }
}

extension TestCluster {
    /// Lets nothing in any more, so that the database can be copied: the extension's own processes would come back.
    private func close(_ template: TestDatabase) throws {
        for server in [self] + servers {
            let connection = try PostgresConnection(PostgresTarget(url: server.url))
            try connection.query("ALTER DATABASE \(template.name) ALLOW_CONNECTIONS false")
            try connection.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(template.name)])
            try eventually("nothing is connected to the template") {
                try connection.query(
                    "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = $1", [.text(template.name)]
                )
                .one().bool(0)
            }
        }
    }
}

extension TestDatabase {
    /// The only value of the only row.
    package func count(_ sql: String, _ parameters: [PostgresValue] = []) throws -> Int64 {
        try connect().query(sql, parameters).one().int(0)
    }

    /// The same for a list of texts.
    package func texts(_ sql: String, _ parameters: [PostgresValue] = []) throws -> [String] {
        try connect().query(sql, parameters).map { try $0.text(0) }
    }

    package func execute(_ sql: String, _ parameters: [PostgresValue] = []) throws {
        try connect().query(sql, parameters)
    }

    /// Waits until so many connections to this database wait for a lock of another.
    package func untilBlocked(_ count: Int64 = 1) throws {
        let connection = try PostgresConnection(PostgresTarget(url: url, applicationName: "observer"))
        try eventually("\(count) wait for a lock") {
            try connection.query(
                """
                SELECT count(*) >= $1 FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """, [.int8(count)]
            ).one().bool(0)
        }
    }
}
