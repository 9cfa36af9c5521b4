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

    /// The samples that the page is about, by type.
    private static let samples: [EventType: [JSON]] = {
        let folder = EventSchemaTests.Samples.folder
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let paths =
            files.map { folder.appending(path: $0) } + [
                folder.deletingLastPathComponent().appending(path: "captured/TEST.json")
            ]
        let events = paths.compactMap { path in
            (try? Data(contentsOf: path)).flatMap { try? JSON(parsing: Array($0))["event"] }
        }
        return Dictionary(
            grouping: events.filter { event in
                ["PRODUCT_CHANGE", "TEST"].contains(event["type"]?.stringValue)
                    || event["store"]?.stringValue == "APP_STORE"
            }
        ) { $0["type"]?.stringValue.flatMap(EventType.init(rawValue:)) }
        .reduce(into: [:]) { byType, entry in if let type = entry.key { byType[type] = entry.value } }
    }()

    @Test(.enabled(if: EventSchemaTests.Samples.isPresent, "skipped: the data is not here"))
    func `what is said of RevenueCat's members is what its samples have, with the kinds of their values`() throws {
        #expect(Set(Self.samples.keys) == Set(RevenueCatMembers.byType.keys))
        for (type, events) in Self.samples {
            let said = try #require(RevenueCatMembers.byType[type])
            let values = Dictionary(grouping: events.flatMap { $0.members ?? [] }, by: \.name)
            #expect(Set(said.map(\.name)) == Set(values.keys), "\(type)")
            for member in said {
                let found = values[member.name] ?? []
                let name = Comment(rawValue: "\(type.rawValue) \(member.name)")
                #expect(member.isSometimesMissing == (found.count < events.count), name)
                #expect(member.kinds == Set(found.map { EventComparison.kind($0.value) }), name)
                #expect(
                    Set(found.flatMap { EventComparison.inner($0.value) })
                        .isSubset(of: RevenueCatMembers.inner[member.name] ?? []), name)
            }
        }
    }

    @Test func `a member that is sometimes absent, or of another kind, is a difference`() {
        func row(_ theirs: String?, _ ours: JSON?...) -> EventComparison.Row {
            let bodies = ours.map { value in value.map { [JSON.Member(name: "x", value: $0)] } ?? [] }
            return EventComparison.row(
                .renewal, "x", theirs.map { RevenueCatMembers.member("x:\($0)") }, bodies)
        }
        #expect(row("n", .int(1), .double(0.5)).difference == nil)
        #expect(row("n?", .int(1), nil).difference == nil)
        #expect(row("n", .int(1), nil).difference == .unexplained)
        #expect(row("n", .string("1")).difference == .unexplained)
        #expect(row("n", .int(1), .null).difference == .unexplained)
        #expect(row("0n", .int(1), .null).difference == nil)
        #expect(row(nil, .int(1)).difference == .unexplained)
        #expect(row("n", nil).difference == .unexplained)
    }

    @Test func `what lists and attributes have in them is of the kinds that RevenueCat's have`() throws {
        var seen: Set<String> = []
        for (type, bodies) in EventBodyTests.bodies {
            for member in bodies.flatMap({ $0["event"]?.members ?? [] }) {
                let inner = EventComparison.inner(member.value)
                guard !inner.isEmpty else { continue }
                seen.insert(member.name)
                #expect(
                    inner.isSubset(of: RevenueCatMembers.inner[member.name] ?? []),
                    "\(type.rawValue) \(member.name): \(inner)")
            }
        }
        #expect(
            seen == ["aliases", "entitlement_ids", "subscriber_attributes", "transferred_from", "transferred_to"])
    }
}
