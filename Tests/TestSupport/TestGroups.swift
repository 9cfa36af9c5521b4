import Database
import Foundation
import Postgres
import Schemas

/// Groups of lanes as a cluster of several servers has them, on the one Postgres of tests.
package enum TestGroups {
    /// Four, interleaved as hashes make them.
    package static let four =
        LaneGroups(shards: Dictionary(uniqueKeysWithValues: Lane.all.map { ($0, Int64($0.number) * 37 % 256 / 64) }))
        ?? .one

    /// The same, the first two on one server and the others on another one.
    package static let onTwoServers =
        LaneGroups(
            shards: Dictionary(uniqueKeysWithValues: Lane.all.map { ($0, Int64($0.number) * 37 % 256 / 64) }),
            servers: [0: 1, 1: 1, 2: 2, 3: 2]) ?? .one

    /// One or four.
    package static func of(_ count: Int) -> LaneGroups { count == 4 ? four : .one }

    /// The same of an expression in SQL that is a lane.
    package static func four(of lane: String) -> String { "((\(lane))::int4 * 37 % 256 / 64)" }

    /// Those with which the suites of several roles run: one, or four where `ENTITLED_TEST_LANE_GROUPS` is 4. The results are the same.
    package static let ofSuites =
        of(ProcessInfo.processInfo.environment["ENTITLED_TEST_LANE_GROUPS"].flatMap { Int($0) } ?? 1)
}

extension TestDatabase {
    /// From now on a transaction of the program's roles that changes rows of two of the four groups fails, and is counted whatever
    /// becomes of it; what the owner of the database does is the tests' own. One that locks lanes as those do who own none (`Fence.hold`, `Fence.lock`) may: customers have purchases in any lanes.
    package func guardFourGroups() throws {
        let tables = TablePlacement.tables.filter { $0.value == .distributed }.keys.sorted()
        let connection = try connect()
        try connection.execute(
            script: """
                CREATE SEQUENCE public.crossings MINVALUE 0;
                CREATE FUNCTION public.one_group() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                DECLARE
                    mine text := \(TestGroups.four(of: "CASE WHEN TG_OP = 'DELETE' THEN OLD.lane ELSE NEW.lane END"))::text;
                    former text := coalesce(current_setting('test.lane_group', true), '');
                BEGIN
                    IF TG_TABLE_NAME = 'lane' THEN
                        IF NEW.touched <> OLD.touched THEN PERFORM set_config('test.holds_lanes', 'on', true); END IF;
                    END IF;
                    IF former = '' THEN
                        PERFORM set_config('test.lane_group', mine, true);
                    ELSIF former <> mine AND coalesce(current_setting('test.holds_lanes', true), '') <> 'on' THEN
                        PERFORM nextval('public.crossings');
                        RAISE EXCEPTION '% changes lanes of the groups % and %', TG_TABLE_NAME, former, mine;
                    END IF;
                    RETURN NULL;
                END $$;
                """
                    + tables.map {
                        """

                        CREATE TRIGGER one_group AFTER INSERT OR UPDATE OR DELETE ON entitled.\($0)
                        FOR EACH ROW WHEN (current_user LIKE 'entitled\\_%')
                        EXECUTE FUNCTION public.one_group();
                        """
                    }.joined())
    }

    /// How many changes met the guard.
    package func crossings() throws -> Int64 {
        try count("SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END FROM public.crossings")
    }

    /// From now on rows of a table in the lanes of some of the four groups cannot be changed, as where the server that has them is away
    /// and its coordinator says so.
    ///
    /// - Parameter sqlstate: what is said.
    package func breakGroup(_ groups: Int..., on table: String, sqlstate: String = "08006") throws {
        try connect().execute(
            script: """
                CREATE SEQUENCE IF NOT EXISTS public.failures MINVALUE 0;
                GRANT USAGE ON SEQUENCE public.failures TO PUBLIC;
                CREATE OR REPLACE FUNCTION public.away() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF \(TestGroups.four(of: "CASE WHEN TG_OP = 'DELETE' THEN OLD.lane ELSE NEW.lane END")) IN (\(groups.map(String.init).joined(separator: ", "))) THEN
                        PERFORM nextval('public.failures');
                        RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '\(sqlstate)';
                    END IF;
                    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
                END $$;
                CREATE TRIGGER away BEFORE INSERT OR UPDATE OR DELETE ON entitled.\(table)
                FOR EACH ROW EXECUTE FUNCTION public.away();
                """)
    }

    /// How many changes failed so.
    package func failures() throws -> Int64 {
        try count("SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END FROM public.failures")
    }

    package func mendGroup(on table: String) throws {
        try execute("DROP TRIGGER away ON entitled.\(table)")
    }
}

extension LaneGroups {
    /// The lanes of a group, in their order.
    package func lanes(of group: Int) -> [Lane] { Lane.all.filter { self.group(of: $0) == group } }
}
