import Postgres
import Schemas
import TestSupport
import Testing

/// Which programs work with which schemas.
@Suite struct SchemaVersionTests {
    struct Case: Sendable {
        let oldest: Int
        let current: Int
        let found: Int
        let oldestProgram: Int?
        let fit: SchemaVersion.Fit
    }

    @Test(arguments: [
        Case(oldest: 25, current: 26, found: 24, oldestProgram: nil, fit: .tooOld),
        Case(oldest: 25, current: 26, found: 25, oldestProgram: nil, fit: .fits),
        Case(oldest: 25, current: 26, found: 26, oldestProgram: 26, fit: .fits),
        Case(oldest: 25, current: 26, found: 27, oldestProgram: nil, fit: .tooNew),
        Case(oldest: 25, current: 26, found: 27, oldestProgram: 26, fit: .fits),
        Case(oldest: 25, current: 26, found: 27, oldestProgram: 25, fit: .fits),
        Case(oldest: 25, current: 26, found: 27, oldestProgram: 27, fit: .tooNew),
        Case(oldest: 25, current: 26, found: 30, oldestProgram: 26, fit: .fits),
        Case(oldest: 26, current: 26, found: 25, oldestProgram: nil, fit: .tooOld),
    ])
    func `a program works with the schemas of its range and with newer ones that say so`(_ table: Case) {
        let found = SchemaVersion.Found(version: table.found, oldestProgram: table.oldestProgram)
        #expect(SchemaVersion.fit(found, oldest: table.oldest, current: table.current) == table.fit)
    }

    @Test func `no migration shuts out the programs that the one before it let in, without saying so`() {
        // From the first that names a program on: a later one that named none would end every older program.
        let named = Schemas.migrations.drop { $0.oldestProgram == nil }
        #expect(!named.isEmpty && named.allSatisfy { $0.oldestProgram != nil })
        for (earlier, later) in zip(named, named.dropFirst()) {
            #expect(earlier.oldestProgram ?? 0 <= later.oldestProgram ?? 0)
        }
        #expect(named.allSatisfy { $0.oldestProgram ?? .max <= $0.version })
    }

    @Test(arguments: DatabaseRole.allCases)
    func `a process stays on a newer schema that it works with, and migrating there changes nothing`(role: DatabaseRole)
        throws
    {
        let database = try NextSchemas.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, Schemas.migrations + [NextSchemas.expanding])
        try role.check(try database.connect(role: role.rawValue))
        #expect(try Migrator.migrate(on: connection) == .ahead(NextSchemas.first))
        #expect(try NextSchemas.faults(in: database) == [])

        _ = try Migrator.migrate(on: connection, NextSchemas.all)
        #expect(throws: DatabaseRole.Rejection.newer(found: NextSchemas.first + 1)) {
            try role.check(try database.connect(role: role.rawValue))
        }
        #expect(try Migrator.migrate(on: connection) == .newer(NextSchemas.first + 1))
    }

    @Test(arguments: DatabaseRole.allCases)
    func `a process works with the oldest schema of its range`(role: DatabaseRole) throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, upTo: SchemaVersion.oldest)
        _ = try PrivilegeGranting.apply(on: connection)
        try role.check(try database.connect(role: role.rawValue))
        _ = try connection.query(
            "DELETE FROM entitled.schema_version WHERE version = $1", [.int8(Int64(SchemaVersion.oldest))])
        #expect(throws: DatabaseRole.Rejection.older(found: SchemaVersion.oldest - 1)) {
            try role.check(try database.connect(role: role.rawValue))
        }
    }
}
