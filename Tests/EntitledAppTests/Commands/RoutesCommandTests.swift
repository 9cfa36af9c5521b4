import Base
import Testing

/// `entitled api --routes`: what the listener answers, said without a listener and without a database.
struct RoutesCommandTests {
    @Test func `routes are listed with their keys, for people and for machines`() throws {
        let people = ProgramFixture().run(["api", "--routes"])
        #expect(people.status == 0)
        let lines = people.output.split(separator: "\n")
        #expect(lines.first?.split(separator: " ") == ["METHOD", "PATH", "KEY", "SUPPORTED"])
        #expect(lines.contains { $0.split(separator: " ") == ["GET", "/v1/health", "none", "yes"] })
        #expect(lines.contains { $0.split(separator: " ") == ["POST", "/v1/config/{domain}", "none", "no,", "404"] })
        let machines = ProgramFixture().run(["api", "--routes", "--json"])
        let routes = try #require(machines.document?["routes"]?.arrayValue)
        #expect(routes.count == lines.count - 1)
        let reading = try #require(
            routes.first {
                $0["method"]?.stringValue == "GET" && $0["path"]?.stringValue == "/v1/subscribers/{app_user_id}"
            })
        #expect(reading["key"]?.stringValue == "any")
        #expect(reading["supported"] == .bool(true))
        let refund = routes.first { $0["path"]?.stringValue?.hasSuffix("/refund") == true }
        #expect(refund?["supported"] == .bool(false))
        let keys: Set = ["none", "any", "public", "secret"]
        #expect(routes.allSatisfy { keys.contains($0["key"]?.stringValue ?? "") })
    }
}
