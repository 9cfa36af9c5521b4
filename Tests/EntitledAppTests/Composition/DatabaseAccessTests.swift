import Base
import Postgres
import Schemas
import TestSupport
import Testing

@testable import EntitledApp

/// The words of a command that finds a database that is not ready.
struct DatabaseAccessTests {
    private func refusal(isPrivate: Bool) throws -> String {
        let database = try TestCluster.shared.makeDatabase()
        let bench = ConfigurationFixture()
        let text = isPrivate ? "{}" : "{ database: { url: \"\(database.url)\" } }"
        let access = DatabaseAccess(try bench.parse(text).database, privateURL: isPrivate ? database.url : nil)
        do {
            _ = try access.connect(.api)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `a database of one's own has to be migrated`() throws {
        #expect(try refusal(isPrivate: false).contains("run `entitled migrate`"))
    }

    @Test func `the private one is being migrated by run, which needs some seconds`() throws {
        let words = try refusal(isPrivate: true)
        #expect(words.contains("`entitled run` has not prepared its database") && !words.contains("migrate"))
    }
}
