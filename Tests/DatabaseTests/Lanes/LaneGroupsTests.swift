import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct LaneGroupsTests {
    /// Groups whose shards are drawn for each lane, as many as may be.
    private static func drawn(_ seed: UInt64) throws -> (groups: LaneGroups, shards: [Lane: Int64]) {
        var random = SplitMix(state: seed)
        let choices = (0..<Int.random(in: 1...256, using: &random)).map { _ in
            Int64.random(in: .min ... .max, using: &random)
        }
        let shards = Dictionary(uniqueKeysWithValues: Lane.all.map { ($0, choices.randomElement(using: &random) ?? 0) })
        return (try #require(LaneGroups(shards: shards)), shards)
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    @Test(arguments: 0..<UInt64(50))
    func `every lane lies in exactly one group, and with the lanes of its shard alone`(seed: UInt64) throws {
        let (groups, shards) = try Self.drawn(seed)
        let lists = (0..<groups.count).map(groups.lanes)
        #expect(lists.allSatisfy { !$0.isEmpty })
        #expect(lists.flatMap { $0 }.sorted() == Lane.all)
        for (number, lanes) in lists.enumerated() {
            #expect(Set(lanes.map { shards[$0] }).count == 1)
            #expect(lanes.allSatisfy { groups.group(of: $0) == number })
        }
        // In the order of the shards.
        let order = lists.compactMap { $0.first.flatMap { shards[$0] } }
        #expect(order == order.sorted() && Set(order).count == order.count)
    }

    @Test(arguments: 0..<UInt64(50))
    func `splitting loses nothing, and each part is of one group, in ascending order`(seed: UInt64) throws {
        let (groups, _) = try Self.drawn(seed)
        var random = SplitMix(state: seed &+ 1000)
        let lanes = (0..<Int.random(in: 0...400, using: &random)).map { _ in
            Lane(number: .random(in: 0...255, using: &random))
        }
        let elements = Array(lanes.enumerated())
        let parts = groups.split(elements) { $0.element }
        #expect(parts.map(\.group) == Set(lanes.map(groups.group)).sorted())
        #expect(parts.flatMap(\.elements).map(\.offset).sorted() == elements.map(\.offset))
        for part in parts {
            #expect(part.elements.allSatisfy { groups.group(of: $0.element) == part.group })
            #expect(part.elements.map(\.offset) == part.elements.map(\.offset).sorted())
        }
        #expect(groups.together(lanes).map(groups.group) == lanes.map(groups.group).sorted())
    }

    @Test func `one Postgres has one group, whose part is what was given`() {
        let lanes = [9, 200, 0, 9].map { Lane(number: $0) }
        let parts = LaneGroups.one.split(lanes)
        #expect(parts.map(\.elements) == [lanes] && LaneGroups.one.isOne)
        #expect(LaneGroups.one.lanes(of: 0) == Lane.all)
        #expect(LaneGroups.one.split([]).isEmpty)
    }

    @Test func `a lane without a shard makes no groups`() {
        let shards = Dictionary(uniqueKeysWithValues: Lane.all.dropLast().map { ($0, Int64(1)) })
        #expect(LaneGroups(shards: shards) == nil)
    }

    // MARK: - Of a database

    @Test func `a database without the extension has one group, for each role that asks`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for role in ["entitled_worker", "entitled_ingest", "entitled_api"] {
            #expect(try LaneGroups.read(on: database.connect(role: role)) == .one)
        }
    }

    /// The names by which a coordinator says where lanes lie, with four shards. Tables lie where they lay.
    private func makeCoordinator(of database: TestDatabase, isDistributed: Bool, lacking lane: Int = -1) throws {
        try database.connect().execute(
            script: """
                SET allow_system_table_mods = on;
                CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
                GRANT SELECT ON pg_catalog.pg_dist_partition TO public;
                INSERT INTO pg_catalog.pg_dist_partition
                VALUES ('entitled.lane'::regclass, '\(isDistributed ? "h" : "n")'), ('entitled.endpoint'::regclass, 'n');
                CREATE TABLE pg_catalog.pg_dist_shard (
                    logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
                GRANT SELECT ON pg_catalog.pg_dist_shard TO public;
                INSERT INTO pg_catalog.pg_dist_shard
                SELECT 'entitled.lane'::regclass, 102008 + i, (64 * i)::text, (64 * i + 63)::text
                FROM generate_series(0, 3) AS i;
                CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, groupid int);
                GRANT SELECT ON pg_catalog.pg_dist_placement TO public;
                INSERT INTO pg_catalog.pg_dist_placement VALUES (102008, 1), (102009, 2), (102010, 1);
                CREATE FUNCTION pg_catalog.worker_hash(v anyelement) RETURNS int
                LANGUAGE sql AS 'SELECT CASE WHEN v <> \(lane) THEN (v::int * 37 % 256) END';
                """)
    }

    @Test func `a coordinator's groups are the shards of its lanes, and are read once`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: database, isDistributed: true)
        let grouping = LaneGrouping()
        #expect(grouping.known == nil)
        let worker = try database.connect(role: "entitled_worker")
        let groups = try grouping.groups(on: worker)
        #expect(groups == TestGroups.four)
        #expect(grouping.known == groups)
        // Of the last one it is not known where it lies.
        #expect((0..<4).map(groups.neighbours) == [[0, 2], [1], [0, 2], [3]])
        try database.execute("DROP TABLE pg_catalog.pg_dist_partition")
        #expect(try grouping.groups(on: worker) == groups)
        #expect(try LaneGrouping().groups(on: worker) == .one)
    }

    @Test func `one Postgres that became a cluster is one for the connections that know of it`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let grouping = LaneGrouping()
        let before = try database.connect(role: "entitled_worker")
        #expect(try grouping.groups(on: before) == .one)
        try makeCoordinator(of: database, isDistributed: true)
        #expect(try grouping.groups(on: before) == .one)
        let after = try database.connect(role: "entitled_worker")
        _ = try LaneGroups.read(on: after)
        #expect(try grouping.groups(on: after) == TestGroups.four)
        #expect(grouping.known == TestGroups.four)
    }

    @Test func `a coordinator whose lanes are not distributed has one group`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: database, isDistributed: false)
        #expect(try LaneGroups.read(on: database.connect(role: "entitled_worker")) == .one)
    }

    @Test func `a lane that has no shard is an error, and is asked for again`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: database, isDistributed: true, lacking: 17)
        let grouping = LaneGrouping()
        let worker = try database.connect(role: "entitled_worker")
        #expect(throws: PostgresError.self) { try grouping.groups(on: worker) }
        #expect(grouping.known == nil)
    }
}

@Suite struct GroupRestsTests {
    private let groups = TestGroups.four
    private let parts = TestGroups.four.split(Lane.all)
    private struct Fault: Error {}

    @Test func `what fails of one group stops no other, and comes last the next time`() throws {
        var rests = GroupRests()
        var ran: [Int] = []
        let failures = try rests.run(parts, of: groups) { part in
            ran.append(part.group)
            if part.group == 1 { throw Fault() }
            return true
        }
        #expect(ran == [0, 1, 2, 3] && failures.count == 1)
        #expect(rests.ordered(parts).map(\.group) == [0, 2, 3, 1])
    }

    @Test func `a group rests four times as long as its failure took, and not for ever`() {
        var rests = GroupRests()
        let begun = ContinuousClock.now
        rests.failed(2, of: groups, since: begun, at: begun + .seconds(2))
        #expect(rests.isResting(2, at: begun + .seconds(9)) && !rests.isResting(2, at: begun + .seconds(10)))
        #expect(!rests.isResting(1, at: begun + .seconds(3)))
        rests.failed(2, of: groups, since: begun, at: begun + .seconds(600))
        #expect(!rests.isResting(2, at: begun + .seconds(631)))
        rests.succeeded(2)
        #expect(!rests.isResting(2, at: begun + .seconds(601)))
    }

    @Test func `all that failed rest together, and one of them is tried at a time`() {
        var rests = GroupRests()
        let begun = ContinuousClock.now
        rests.failed(1, of: groups, since: begun, at: begun + .seconds(1))
        rests.failed(3, of: groups, since: begun + .seconds(1), at: begun + .seconds(2))
        // What two took counts together.
        let due = begun + .seconds(9)
        for group in [1, 3] { #expect(rests.isResting(group, at: due - .milliseconds(1))) }
        for group in [0, 2] { #expect(!rests.isResting(group, at: begun + .seconds(2))) }
        #expect((0..<4).filter(rests.isFailing) == [1, 3])
        #expect(rests.ordered([0, 1, 2, 3]) == [0, 2, 1, 3])
        // The first fails again: the second one waits with it, and is tried first the next time.
        rests.failed(1, of: groups, since: due, at: due + .seconds(1))
        #expect(rests.isResting(3, at: due + .seconds(4)) && !rests.isResting(3, at: due + .seconds(5)))
        #expect(rests.ordered([0, 1, 2, 3]) == [0, 2, 3, 1])
        // That one is well again: the other may be tried at once.
        rests.succeeded(3)
        #expect(!rests.isResting(1, at: due + .seconds(5)) && rests.isAny)
    }

    @Test func `a server that refuses at once is not asked all the time`() {
        var rests = GroupRests()
        let now = ContinuousClock.now
        rests.failed(1, of: groups, since: now, at: now)
        #expect(rests.isResting(1, at: now + .milliseconds(99)) && !rests.isResting(1, at: now + .milliseconds(100)))
    }

    private static let away = PostgresError(.query, "could not connect", sqlstate: "08006")
    private static let late = PostgresError(.query, "canceling statement", sqlstate: "57014")

    @Test func `a server that is away is asked for one of its groups, and the others on it rest, too`() throws {
        let groups = TestGroups.onTwoServers
        var rests = GroupRests(asksLittle: true)
        var ran: [Int] = []
        let failures = try rests.run(groups.split(Lane.all), of: groups) { part in
            ran.append(part.group)
            if part.group < 2 { throw Self.away }
            return true
        }
        #expect(ran == [0, 2, 3] && failures.count == 1)
        #expect((0..<4).filter(rests.isFailing) == [0, 1] && rests.isResting(1))
        // The one that was not tried comes first.
        #expect(rests.ordered([0, 1, 2, 3]) == [2, 3, 1, 0])
        // One that answers again says nothing about the other, which may be tried at once.
        rests.succeeded(1)
        #expect((0..<4).filter(rests.isFailing) == [0])
        // It may have moved: the other's server is not its own any more.
        rests.failed(0, after: Self.away, of: groups, since: .now)
        #expect((0..<4).filter(rests.isFailing) == [0])
        rests.succeeded(0)
        rests.failed(0, after: Self.away, of: groups, since: .now)
        #expect((0..<4).filter(rests.isFailing) == [0, 1])
    }

    @Test func `a group that was not asked is not known to answer`() throws {
        var rests = GroupRests()
        let begun = ContinuousClock.now - .seconds(60)
        rests.failed(3, of: groups, since: begun, at: begun)
        _ = try rests.run(parts, of: groups) { $0.group != 3 }
        #expect(rests.isFailing(3))
        _ = try rests.run(parts, of: groups) { _ in true }
        #expect(!rests.isAny)
    }

    @Test func `a time limit is of the server where little is asked, and of the group alone else`() throws {
        let groups = TestGroups.onTwoServers
        let begun = ContinuousClock.now
        var (leases, deliveries) = (GroupRests(asksLittle: true), GroupRests())
        leases.failed(2, after: Self.late, of: groups, since: begun, at: begun + .seconds(1))
        deliveries.failed(2, after: Self.late, of: groups, since: begun, at: begun + .seconds(1))
        #expect((0..<4).filter(leases.isFailing) == [2, 3])
        #expect((0..<4).filter(deliveries.isFailing) == [2])
        // Nor is what a delivery needs of another server.
        var others = GroupRests()
        others.failed(2, after: Self.away, of: groups, since: begun)
        #expect((0..<4).filter(others.isFailing) == [2])
        // The first rest of what is in a hurry is short, the later ones are not; other groups' success is none of the server.
        #expect(!leases.isResting(2, at: begun + .seconds(2)) && deliveries.isResting(2, at: begun + .seconds(4)))
        for round in 2...6 {
            leases.succeeded(0)
            let start = begun + .seconds(100 * round)
            leases.failed(3, after: Self.late, of: groups, since: start, at: start + .seconds(1))
            let end = start + .seconds(1 + min(round, 4))
            #expect(leases.isResting(2, at: end - .milliseconds(1)) && !leases.isResting(2, at: end))
        }
        leases.succeeded(2)
        leases.succeeded(3)
        leases.failed(3, after: Self.late, of: groups, since: begun + .seconds(900), at: begun + .seconds(901))
        #expect(!leases.isResting(3, at: begun + .seconds(902)))
    }

    @Test func `a resting group is not run`() throws {
        var rests = GroupRests()
        rests.failed(3, of: groups, since: .now - .seconds(60))
        var ran: [Int] = []
        let failures = try rests.run(parts, of: groups) { part in
            ran.append(part.group)
            return true
        }
        #expect(failures.isEmpty)
        #expect(ran == [0, 1, 2])
    }

    @Test func `where all lanes are one group, and where the connection is lost, what fails is thrown`() {
        var rests = GroupRests()
        #expect(throws: Fault.self) { try rests.run(LaneGroups.one.split(Lane.all), of: .one) { _ in throw Fault() } }
        #expect(!rests.isResting(0))
        var ran: [Int] = []
        #expect(throws: PostgresError.self) {
            try rests.run(parts, of: groups) { part in
                ran.append(part.group)
                throw PostgresError(.connection, "gone")
            }
        }
        #expect(ran == [0] && !rests.isResting(0))
    }
}
