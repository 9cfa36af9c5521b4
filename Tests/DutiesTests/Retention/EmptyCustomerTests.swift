import Base
import Daemon
import Duties
import Postgres
import TestSupport
import Testing

/// Customers who have nothing but an id go after their time, and nobody else.
struct EmptyCustomerTests {
    /// Makes customers as reading does, so many days ago.
    private func make(_ ids: [String], daysAgo: Int64, in bench: RetentionFixture) throws {
        let at = bench.now - daysAgo * RetentionFixture.day
        _ = try bench.owner.query(
            """
            WITH named AS (
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, last_seen_ms)
                SELECT id, id, $2, $2 FROM unnest($1::text[]) AS t(id) RETURNING id
            )
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) SELECT id, $2 FROM named
            """, [.texts(ids), .int8(at)])
    }

    private func ids(_ bench: RetentionFixture) throws -> [String] {
        #expect(
            try bench.database.count(
                """
                SELECT count(*) FROM entitled.customer c FULL JOIN entitled.app_user_id a
                    ON a.original_app_user_id = c.original_app_user_id
                WHERE a.id IS NULL OR c.original_app_user_id IS NULL
                """) == 0)
        return try bench.database.texts("SELECT id FROM entitled.app_user_id ORDER BY 1")
    }

    @Test func `twelve thousand who were read once go, in steps, and those who were seen since stay`() throws {
        let bench = try RetentionFixture(emptyCustomers: 90)
        try make((0..<12_000).map { "guest-\($0)" }, daysAgo: 91, in: bench)
        try make(["young-1", "young-2"], daysAgo: 89, in: bench)
        try bench.owner.query(
            "UPDATE entitled.app_user_id SET last_seen_ms = $1 WHERE id = 'guest-1'",
            [.int8(bench.now - RetentionFixture.day)])
        try bench.owner.query(
            "UPDATE entitled.customer SET last_seen_ms = $1 WHERE original_app_user_id = 'guest-2'",
            [.int8(bench.now - RetentionFixture.day)])
        try bench.runRetention()
        #expect(try ids(bench) == ["guest-1", "guest-2", "young-1", "young-2"])
        #expect(
            bench.metrics.exposition().contains(#"entitled_retention_rows_cleaned_total{table="customer"} 11998"#))
    }

    /// What a customer may have, one thing each.
    private static let belongings = [
        "INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text) VALUES ('ada', 'anna', 1, 'called')",
        "INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms) VALUES ('ada', 'team', 'a', 1)",
        "INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms) VALUES ('ada', 'team', NULL, 1)",
        """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
            version, updated_ms) VALUES (7, 'demo', 0, '1', 'ada', 'pro', false, 1, 1)
        """,
        """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
            version, updated_ms) VALUES (7, '$promotional', 0, '1', 'ada', 'pro', false, 1, 1)
        """,
        "INSERT INTO entitled.action (kind, at_ms, actor, app_user_id) VALUES ('post', 1, 'api', 'ada')",
        "INSERT INTO entitled.action (kind, at_ms, actor, app_user_id, other) VALUES ('alias', 1, 'api', 'x', 'ada')",
        """
        INSERT INTO entitled.account_join (account, app, environment, one, other, at_ms)
            VALUES ('1', 'demo', 0, 'ada', 'x', 1)
        """,
        """
        INSERT INTO entitled.account_join (account, app, environment, one, other, at_ms)
            VALUES ('1', 'demo', 0, 'x', 'ada', 1)
        """,
        "INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ('ada-2', 'ada', 1)",
        "UPDATE entitled.customer SET restore_behavior = 'error'",
        "UPDATE entitled.customer SET offering_override = 'sale'",
        "UPDATE entitled.customer SET original_application_version = '1', app_purchased_ms = 1, app_environment = 0",
        "UPDATE entitled.app_user_id SET of_account = true",
    ]

    @Test(arguments: belongings)
    func `a customer who has anything stays`(belonging: String) throws {
        let bench = try RetentionFixture(emptyCustomers: 90)
        try make(["ada"], daysAgo: 1000, in: bench)
        try bench.database.execute(belonging)
        // As whoever writes purchases does on a cluster.
        try bench.database.execute(
            "INSERT INTO entitled.owner_lane (owner, lane) SELECT DISTINCT owner, lane FROM entitled.purchase")
        try make(["eve"], daysAgo: 1000, in: bench)
        try bench.runRetention()
        let left = try ids(bench)
        #expect(left.contains("ada") && !left.contains("eve"))
    }

    @Test func `somebody is busy with a customer, who stays until that is over`() throws {
        let bench = try RetentionFixture(emptyCustomers: 90)
        try make(["ada", "eve", "joe"], daysAgo: 1000, in: bench)
        let busy = try bench.database.connect(role: "entitled_api")
        try busy.transaction {
            // As whoever makes somebody an owner holds them, and as whoever joins or sets attributes does.
            _ = try busy.query("SELECT id FROM entitled.app_user_id WHERE id = 'ada' FOR KEY SHARE")
            _ = try busy.query(
                "SELECT 1 FROM entitled.customer WHERE original_app_user_id = 'eve' FOR NO KEY UPDATE")
            try bench.runRetention()
            #expect(try ids(bench) == ["ada", "eve"])
            _ = try busy.query(
                """
                INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
                    VALUES ('ada', 'a', 'b', 1)
                """
            )
        }
        try bench.runRetention()
        #expect(try ids(bench) == ["ada"])
    }

    @Test func `never removes nobody`() throws {
        let bench = try RetentionFixture()
        try make(["ada"], daysAgo: 3000, in: bench)
        try bench.runRetention()
        #expect(try ids(bench) == ["ada"])
    }
}
