import Base
import Foundation
import Subscriptions
import Testing

/// RevenueCat's events beside ours.
struct EventComparisonTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "schemas/events/RevenueCat.md")

    @Test func `every difference from RevenueCat's samples has a reason`() {
        let unexplained = EventComparison.rows.filter { $0.difference == .unexplained }
        #expect(unexplained.map { "\($0.type.rawValue) \($0.member): \($0.theirs) / \($0.ours)" } == [])
        #expect(EventComparison.rows.count > 300)
        #expect(Set(EventComparison.rows.map(\.type)) == Set(EventType.allCases))
    }

    @Test func `the page has every member of every type`() throws {
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(EventComparison.document.utf8).write(to: Self.page)
        }
        #expect(try String(contentsOf: Self.page, encoding: .utf8) == EventComparison.document)
    }

    @Test(.enabled(if: EventSchemaTests.Samples.isPresent, "skipped: the data is not here"))
    func `what is said of RevenueCat's members is what its samples for the App Store have`() throws {
        let byType = Dictionary(grouping: EventSchemaTests.Samples.all, by: \.type)
        #expect(byType.count >= 10)
        for (name, samples) in byType {
            let type = try #require(EventType(rawValue: name))
            let events = samples.compactMap { $0.body["event"]?.members }
            let names = Set(events.flatMap { $0.map(\.name) })
            let said = try #require(RevenueCatMembers.byType[type])
            #expect(Set(said.map(\.name)) == names, "\(name)")
            for member in said {
                #expect(member.isSometimesMissing == !events.allSatisfy { $0.contains { $0.name == member.name } })
            }
        }
    }
}
