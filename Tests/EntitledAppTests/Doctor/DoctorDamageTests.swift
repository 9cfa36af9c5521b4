import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// What the doctor says of installations each of which is broken in one way.
struct DoctorDamageTests {
    /// A way to break it, and the line that tells it.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Name, status and the beginning of the message.
        let line: String
        /// A part of what to do.
        let action: String
        let make: @Sendable (DoctorFixture) throws -> Void

        init(
            _ what: String, _ line: String, _ action: String, _ make: @escaping @Sendable (DoctorFixture) throws -> Void
        ) {
            testDescription = what
            self.line = line
            self.action = action
            self.make = make
        }

        /// Broken by a statement of the database's owner.
        init(_ what: String, _ line: String, _ action: String, sql: String) {
            self.init(what, line, action) { try $0.database.execute(sql) }
        }
    }

    @Test(arguments: database + work + money + endpoints + apps + apple)
    func `each damage has its line and no other line but its own`(damage: Damage) throws {
        let bench = try DoctorFixture()
        try damage.make(bench)
        let section = damage.line.prefix { $0 != "." }
        let more = section == "app_store" ? [] : ["--offline"]
        let outcome = bench.run(["doctor", "--json"] + more)
        let complaints = DoctorFixture.complaints(of: outcome)
        let found = try #require(complaints.first { $0.hasPrefix(damage.line) }, "\(complaints)")
        #expect(found.contains(" → ") && found.contains(damage.action), "\(found)")
        #expect(complaints.allSatisfy { $0.hasPrefix(section) }, "\(complaints)")
        let isError = complaints.contains { $0.split(separator: " ")[1] == "error" }
        #expect(outcome.status == (isError ? 1 : 0))
        #expect(outcome.errorLines == (isError ? 1 : 0))
    }
}
