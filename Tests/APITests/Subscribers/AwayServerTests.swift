import Base
import Database
import Postgres
import Schemas
import Subscriptions
import TestSupport
import Testing

/// Customers of a cluster while one of its servers is away.
@Suite struct AwayServerTests {
    private let fixture: SubscriberFixture

    init() throws { fixture = try SubscriberFixture { try ImitatedServers.imitate(in: $0) } }

    /// Purchases whose lanes lie in one group (true), or in others.
    private func purchases(_ count: Int, inGroup isInGroup: Bool, _ groups: LaneGroups) -> [String] {
        let originals = (1000...).lazy.map { "\($0)" }.filter {
            (groups.group(of: SubscriberFixture.key($0).lane) == 0) == isInGroup
        }
        return Array(originals.prefix(count))
    }

    /// From now on what lies in these lanes cannot be read by the api, as the coordinator says it of a server that is away.
    private func takeAway(_ lanes: [Lane]) throws {
        let list = lanes.map { "\($0.number)" }.joined(separator: ", ")
        try fixture.database.connect().execute(
            script: """
                CREATE FUNCTION public.answers(lane int2) RETURNS bool LANGUAGE plpgsql COST 1000000 AS $$
                BEGIN
                    IF current_user = 'entitled_api' AND lane IN (\(list)) THEN
                        RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '08006';
                    END IF;
                    RETURN true;
                END $$;
                CREATE POLICY reading ON entitled.purchase USING (public.answers(lane));
                ALTER TABLE entitled.purchase ENABLE ROW LEVEL SECURITY;
                CREATE POLICY reading ON entitled.purchase_snapshot USING (public.answers(lane));
                ALTER TABLE entitled.purchase_snapshot ENABLE ROW LEVEL SECURITY;
                """)
    }

    @Test func `customers of the other servers are answered, also where all are asked for together`() throws {
        let groups = try fixture.database.connect().laneGroups
        #expect(groups.count == 4)
        let (away, here) = (purchases(8, inGroup: true, groups), purchases(8, inGroup: false, groups))
        let worker = try fixture.database.connect(role: "entitled_worker")
        for original in away + here { try fixture.tell("user-\(original)", original, on: worker) }
        try fixture.database.connect().execute(script: Distribution.noting)
        #expect(SubscriberFixture.price(fixture.get("user-\(away[0])")) == 1)
        try takeAway(groups.lanes(of: 0))
        #expect(fixture.get("user-\(away[0])").status == 503)
        for _ in 0..<3 {
            // The first ones occupy the readers; what comes meanwhile is a batch.
            let holder = try fixture.database.connect()
            try holder.query("BEGIN")
            try holder.query("LOCK TABLE entitled.app_user_id IN ACCESS EXCLUSIVE MODE")
            let asked = zip(away, here).flatMap { [$0, $1] }
            let threads = asked.map { original in
                TestThread { (original, fixture.get("user-\(original)").status) }
            }
            try fixture.database.untilBlocked()
            try holder.query("COMMIT")
            for thread in threads {
                let (original, status) = try thread.value()
                #expect(status == (away.contains(original) ? 503 : 200), "\(original)")
            }
        }
    }
}
