import Base
import Postgres
import Schemas

extension TestCluster {
    /// A new database with the schema of this program. Its owners get the same ids as in every other one, so that what
    /// becomes of the same notifications can be compared.
    ///
    /// It is a copy of one that was migrated once: running all migrations for each test took more time than the tests.
    package func makeMigratedDatabase(in tablespace: String? = nil) throws -> TestDatabase {
        let template = try template.get {
            let template = try makeDatabase()
            let connection = try template.connect()
            _ = try Migrator.migrate(on: connection)
            _ = try connection.query("UPDATE entitled.owner_salt SET salt = 'a salt of tests'")
            return template
        }
        let database = try makeDatabase(in: tablespace, from: template)
        // The privileges on the database itself are not copied; the migrator grants them.
        _ = try Migrator.migrate(on: database.connect())
        return database
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
