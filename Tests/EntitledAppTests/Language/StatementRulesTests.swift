import Foundation
import Testing

/// The statements of the program keep the rules of a cluster, except those of a list.
@Suite struct StatementRulesTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `each statement keeps the rules of distributed tables, or is in the list of those that need not`() throws
    {
        var found: [String: [String: Set<StatementFault>]] = [:]
        let texts = try StatementText.all(Self.package)
        // Not one of them was missed for a form of literal that is not known here.
        #expect(texts.count > 500)
        for text in texts {
            let faults = StatementRules(text.text).faults
            guard !faults.isEmpty else { continue }
            found[text.file, default: [:]][text.name, default: []].formUnion(faults)
        }
        let listed = try StatementExceptions.all()
        for file in Set(found.keys).union(listed.keys).sorted() {
            let (here, there) = (found[file] ?? [:], listed[file] ?? [:])
            for name in Set(here.keys).union(there.keys).sorted() where here[name] != there[name] {
                let (new, old) = (
                    StatementExceptions.line(here[name] ?? []), StatementExceptions.line(there[name] ?? [])
                )
                Issue.record("\(file)\n    \(name): \(new)\nis listed as: \(old)")
            }
        }
    }

    @Test func `questions have one kind of fault`() throws {
        let questions = try StatementExceptions.questions()
        #expect(!questions.isEmpty)
        for (file, faults) in questions {
            #expect(faults.values.allSatisfy { [[.everyLane], [.joined]].contains($0) }, "\(file)")
        }
    }

    /// Every line of the program that names a table is in a literal that was read.
    @Test func `no statement is out of sight`() throws {
        let texts = Dictionary(grouping: try StatementText.all(Self.package), by: \.file)
        let root = Self.package.appending(path: "Sources").path
        var count = 0
        for (file, here) in texts {
            let lines = try String(contentsOfFile: "\(root)/\(file).swift", encoding: .utf8).split(separator: "\n")
            let named = lines.filter { line in
                let code = line.drop { $0 == " " }
                return !code.hasPrefix("//") && line.contains(#/\b(FROM|JOIN|INTO|UPDATE) entitled\./#)
            }
            count += named.count
            let read = here.map(\.text).joined(separator: "\n").matches(of: #/\b(FROM|JOIN|INTO|UPDATE) entitled\./#)
                .count
            #expect(read >= named.count, "\(file)")
        }
        #expect(count > 400)
    }

    @Test(
        arguments: [
            ("SELECT 1 FROM entitled.pending WHERE lane = $1", []),
            ("SELECT 1 FROM entitled.pending p WHERE p.lane = ANY($1::int2[])", []),
            ("SELECT 1 FROM entitled.pending p WHERE lane = ANY ($1)", []),
            ("SELECT 1 FROM entitled.customer c JOIN entitled.app_user_id a ON true", []),
            ("SELECT 1 FROM entitled.pending", [.everyLane]),
            ("SELECT 1 FROM entitled.pending -- lane = $1", [.everyLane]),
            ("SELECT 1 FROM entitled.pending WHERE reason = 'lane = $1'", [.everyLane]),
            ("SELECT 1 FROM entitled.pending p WHERE q.lane = $1", [.everyLane]),
            (
                "SELECT 1 FROM entitled.pending p JOIN entitled.fact f ON f.lane = p.lane WHERE p.lane = $1",
                [.everyLane]
            ),
            ("SELECT 1 FROM entitled.pending p JOIN entitled.fact f ON f.lane = ANY($1) WHERE p.lane = $1", []),
            ("DELETE FROM entitled.pending p USING unnest($1) AS t(lane) WHERE p.lane = t.lane", [.joined]),
            (
                "SELECT 1 FROM unnest($1) o(lane) CROSS JOIN LATERAL (SELECT 1 FROM entitled.fact WHERE lane = o.lane) f",
                [.lateral]
            ),
            ("INSERT INTO entitled.pending (lane, seq) SELECT lane, seq FROM unnest($1, $2) AS t(lane, seq)", []),
            ("SELECT 1 FROM entitled.pending p, entitled.endpoint e WHERE p.lane = $1", [.local]),
            ("SELECT 1 FROM entitled.pending p JOIN entitled.jws_header h ON true WHERE p.lane = $1", []),
            ("SELECT 1 FROM entitled.lane FOR NO KEY UPDATE", [.everyLane, .lock]),
            ("SELECT 1 FROM entitled.lane WHERE lane = $1 FOR UPDATE SKIP LOCKED", []),
            ("UPDATE entitled.lane SET lease_until = clock_timestamp() WHERE lane = $1", [.clock]),
            ("UPDATE entitled.job SET at = clock_timestamp()", [.clock]),
            ("UPDATE entitled.worker SET seen_at = clock_timestamp()", []),
            ("DELETE FROM entitled.fact WHERE ctid = $2", [.everyLane, .physical]),
            ("DELETE FROM entitled.fact WHERE lane = $1 AND ctid = $2", []),
            ("SELECT pg_relation_size(tableoid) FROM entitled.fact WHERE lane = $1 LIMIT 1", []),
            (
                "SELECT 1 FROM entitled.lane l CROSS JOIN LATERAL (SELECT 1 FROM entitled.fact WHERE lane = l.lane) f",
                [.everyLane]
            ),
            ("SELECT pg_relation_size('entitled.event')", [.physical]),
            ("UPDATE entitled.fact SET lane = $2 WHERE lane = $1", [.physical]),
            ("DELETE FROM entitled.\\(table) WHERE lane = $1", [.unnamed]),
            ("the table entitled.\\(table) is missing", []),
            (
                "WITH made AS (INSERT INTO entitled.customer (id) VALUES ($1) RETURNING id) SELECT id FROM made",
                [.anywhere]
            ),
            ("WITH a AS (DELETE FROM entitled.job RETURNING id) INSERT INTO entitled.audit SELECT id FROM a", []),
        ] as [(String, [StatementFault])])
    func `faults are found`(text: String, faults: [StatementFault]) {
        #expect(StatementRules(text).faults == Set(faults), "\(text)")
    }
}
