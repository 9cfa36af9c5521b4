import Base
import Database
import Subscriptions
import TestSupport
import Testing

@Suite struct OwnerSettingTests {
    @Test func `a setting is written down where it changes, and counts from then on`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_worker")
        let place = AppScope(app: "demo", environment: .production)
        func note(_ behavior: RestoreBehavior, usesTokens: Bool) throws {
            try OwnerSettingTable.note(
                [OwnerSettingTable.Current(place: place, behavior: behavior, usesTokens: usesTokens)], on: connection)
        }
        try note(.keep, usesTokens: true)
        try note(.keep, usesTokens: true)
        #expect(try database.count("SELECT count(*) FROM entitled.owner_setting") == 1)
        try database.execute("UPDATE entitled.owner_setting SET since_ms = 1000")
        try note(.keep, usesTokens: false)
        try note(.keep, usesTokens: false)
        try database.execute("UPDATE entitled.owner_setting SET since_ms = 2000 WHERE since_ms > 1000")
        try note(.keep, usesTokens: true)
        try database.execute("UPDATE entitled.owner_setting SET since_ms = 3000 WHERE since_ms > 2000")
        let settings = try #require(try OwnerSettingTable.read(on: connection)[place])
        #expect(
            [0, 1000, 1999, 2000, 2999, 3000, 9000].map { settings.entry(at: $0).usesTokens }
                == [true, true, true, false, false, true, true])
        #expect(settings.entry(at: 5).behavior == .keep && settings.everIgnoresTokens)
    }
}
