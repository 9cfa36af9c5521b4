import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct CustomerTableTests {
    @Test func `customers made by many at once exist once`() throws {
        let bench = try Bench()
        let database = bench.database
        let threads = (0..<4).map { number in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                for round in 0..<15 {
                    let ids = Set((0..<10).map { "customer-\((round + $0 * (number + 1)) % 20)" })
                    try connection.transaction {
                        try CustomerTable.make(ids, now: Int64(round), on: connection)
                    }
                }
            }
        }
        for thread in threads { try thread.value() }
        for table in ["customer", "app_user_id"] {
            #expect(try database.count("SELECT count(*) FROM entitled.\(table)") == 20)
        }
    }

    @Test func `an exact id is found before one that differs in case, and of those the oldest`() throws {
        let bench = try Bench()
        try CustomerTable.make(["ABC"], now: 5, on: bench.connection)
        try CustomerTable.make(["Abc"], now: 3, on: bench.connection)
        func find(_ token: String) throws -> String? {
            try CustomerTable.find([token], on: bench.connection)[token]
        }
        #expect(try find("ABC") == "ABC")
        #expect(try find("Abc") == "Abc")
        #expect(try find("abc") == "Abc")
        #expect(try find("abd") == nil)
    }

    @Test func `a customer that exists keeps when it was first seen`() throws {
        let bench = try Bench()
        try CustomerTable.make(["a"], now: 5, on: bench.connection)
        try CustomerTable.make(["a", "b"], now: 9, on: bench.connection)
        let customers = try CustomerTable.load(["a", "b", "c"], on: bench.connection)
        #expect(customers["a"] == Customer(originalAppUserID: "a", appUserIDs: ["a"], firstSeen: 5))
        #expect(customers["b"]?.firstSeen == 9)
        #expect(customers["c"] == nil)
    }

    @Test func `a merged anonymous customer becomes an alias, and the id that was first stays the original one`() throws
    {
        let bench = try Bench()
        let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        try CustomerTable.make([anonymous], now: 1, on: bench.connection)
        try CustomerTable.make(["user"], now: 2, on: bench.connection)
        try bench.connection.transaction {
            let found = try CustomerTable.lock([anonymous, "user"], on: bench.connection).compactMap { $0 }
            _ = try CustomerTable.unite(found[0], found[1], on: bench.connection)
        }
        let customers = try CustomerTable.load([anonymous, "user"], on: bench.connection)
        #expect(customers["user"]?.originalAppUserID == anonymous)
        #expect(Set(customers["user"]?.appUserIDs ?? []) == ["user", anonymous])
        #expect(customers[anonymous] == customers["user"])
        #expect(try bench.database.count("SELECT count(*) FROM entitled.customer") == 1)
        // Somebody who comes with the former id makes no second customer.
        try CustomerTable.make([anonymous], now: 3, on: bench.connection)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.customer") == 1)
    }
}
