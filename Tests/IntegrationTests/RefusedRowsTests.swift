import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// The file of rows that need a person.
@Suite struct RefusedRowsTests: ImportSuite {
    let scene: ImportScene

    init() throws {
        scene = try ImportScene()
    }

    @Test func `rows that need a person are in a file that only its owner reads`() throws {
        defer { stop() }
        let now = SystemClock().now()
        var stranger = SubscriberLife(app: StoreApp(bundleID: "com.example.other", environment: "Production"), seed: 8)
        let foreign = try PostingFixture.jws(stranger.start(at: now))
        let header = "app_user_id,original_transaction_id,jws,receipt"
        let id = lives[0].latest.originalID
        let lines = [
            header, "user-0,\(id),,", "user-1,\(id),,", "user-2,,\(foreign),", "user-3,,a.b.c,", "user-4,,,bm9uZQ==",
            "user-5,2000000999999999,,", "=cmd(),\(id),,", "user-6,\"un\"quoted\",,", "user-0,\(id),,",
        ]
        let done = try bench.run(lines)
        #expect(done.job.state == .done)
        #expect(done.counts.numbers == [9, 1, 1, 6, 1, 0], "\(bench.refusedRows)")
        let rows = bench.refusedRows
        for part in [
            "line,reason,\(header)", "is user-0's here", "jws: ", "receipt: ", "Apple does not know the transaction",
            "formula",
            "'=cmd()", "behind the closing",
        ] { #expect(rows.contains(part), "\(part) in \(rows)") }
        let mode = try FileManager.default.attributesOfItem(atPath: bench.refusedPath)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try bench.untilApplied()
        #expect(try owner(of: lives[0]) == "user-0")
        #expect(
            try installation.database.texts("SELECT id FROM entitled.app_user_id WHERE id LIKE 'user-%'") == ["user-0"])
        try installation.expectNoDifferences()
    }

    private var rejecting: [String] {
        ["app_user_id,original_transaction_id", "null,1", "user-0,\(lives[0].latest.originalID)", "null,2"]
    }

    private func write(_ text: String) throws {
        try text.write(toFile: bench.refusedPath, atomically: false, encoding: .utf8)
    }

    @Test func `a file that the import did not write is left alone, and nothing begins`() throws {
        defer { stop() }
        let former = "line,reason,app_user_id,original_transaction_id\r\n9,of another import,x,1\r\n"
        for foreign in [former, "a,b\r\n", ""] {
            try write(foreign)
            #expect {
                try bench.run(rejecting)
            } throws: {
                "\($0)".contains("a file that this import did not write is there")
            }
            #expect(bench.refusedRows == foreign)
            #expect(try installation.database.count("SELECT count(*) FROM entitled.job") == 0)
        }
        try FileManager.default.removeItem(atPath: bench.refusedPath)
        #expect(try bench.run(rejecting).counts.numbers == [3, 1, 0, 2, 0, 0])
    }

    @Test func `a file that comes in the way of an import stops it, and nothing of either is lost`() throws {
        defer { stop() }
        let begun = try bench.run(rejecting, steps: 2)
        #expect(begun.job.state == .running && begun.counts.refused == 1)
        let first = bench.refusedRows
        try write("minutes of a meeting\n")
        #expect {
            try bench.run(rejecting)
        } throws: {
            "\($0)".contains("did not write")
        }
        #expect(bench.refusedRows == "minutes of a meeting\n")
        try write(first)
        let done = try bench.run(rejecting)
        #expect(done.job.id == begun.job.id && done.counts.numbers == [3, 1, 0, 2, 0, 0])
        #expect(bench.refusedRows.hasPrefix(first) && bench.refusedRows.contains("\r\n4,"))
    }

    @Test func `the same file again writes its refused rows anew, unless a person worked on them`() throws {
        defer { stop() }
        #expect(try bench.run(rejecting).counts.refused == 2)
        let rows = bench.refusedRows
        let again = try bench.run(rejecting)
        #expect(again.counts.numbers == [3, 0, 0, 2, 1, 0] && bench.refusedRows == rows)
        try write(rows + "checked by Anna\r\n")
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == rows + "checked by Anna\r\n")
        // Also where as much is in the file as before.
        let worked = rows.replacing("null", with: "anna")
        try write(worked)
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == worked && worked != rows)
        try write(rows)
        #expect(try bench.run(rejecting).job.state == .done && bench.refusedRows == rows)
    }

    @Test func `what a person did to the rows of an import that goes on stops it, and stays`() throws {
        defer { stop() }
        let begun = try bench.run(rejecting, steps: 2)
        #expect(begun.job.state == .running && begun.counts.refused == 1)
        let first = bench.refusedRows
        let worked = first.replacing("null", with: "anna")
        try write(worked)
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == worked && worked != first)
        // Behind them, it is seen when the next row is written.
        try write(first + "2,checked by Anna,null,1\r\n")
        let stopped = try bench.run(rejecting)
        #expect(stopped.job.state == .failed && stopped.job.error?.contains("a person") ?? false)
        #expect(bench.refusedRows == first + "2,checked by Anna,null,1\r\n")
        try write(first)
        let done = try bench.run(rejecting)
        #expect(done.job.id == begun.job.id && done.counts.numbers == [3, 1, 0, 2, 0, 0])
        #expect(bench.refusedRows.hasPrefix(first) && bench.refusedRows.contains("\r\n4,"))
    }

    @Test func `refused rows of an earlier run are there still, and a file that was taken away begins anew`() throws {
        defer { stop() }
        let lines = ["app_user_id,original_transaction_id", "null,1", "user-0,\(lives[0].latest.originalID)", "null,2"]
        _ = try bench.run(lines, steps: 2)
        let first = bench.refusedRows
        #expect(first.contains("line,reason") && first.contains("\r\n2,"))
        try FileManager.default.removeItem(atPath: bench.refusedPath)
        #expect(try bench.run(lines).counts.numbers == [3, 1, 0, 2, 0, 0])
        let rows = bench.refusedRows
        #expect(rows.hasPrefix("line,reason") && rows.contains("\r\n4,") && !rows.contains("\0"))
    }

    @Test func `what did not commit is not in the file at the end, whatever came of it later`() throws {
        defer { stop() }
        let begun = try bench.run(rejecting, steps: 2)
        #expect(begun.job.state == .running && begun.counts.refused == 1)
        // As a process leaves it that was killed before a step committed, whose row is imported at the second try.
        let (first, row) = (bench.refusedRows, "3,it is another customer's here,user-0,1\r\n")
        let note = "entitled: rows of a step of an import, which may not have committed\n"
        try write(first + row)
        try (note + row).write(toFile: bench.refusedPath + ".uncommitted", atomically: false, encoding: .utf8)
        let done = try bench.run(rejecting)
        #expect(done.job.id == begun.job.id && done.job.state == .done && done.counts.numbers == [3, 1, 0, 2, 0, 0])
        let lines = bench.refusedRows.split(separator: "\r\n").map { $0.prefix(2) }
        #expect(lines == ["li", "2,", "4,"], "\(bench.refusedRows)")
        #expect(!FileManager.default.fileExists(atPath: bench.refusedPath + ".uncommitted"))
    }

    @Test func `a file whose rows all did not commit is gone at the end`() throws {
        defer { stop() }
        let lines = Array(file.prefix(3))
        _ = try bench.run(lines, steps: 1)
        let text = "line,reason,app_user_id\r\n2,why,user-0\r\n"
        let note = "entitled: rows of a step of an import, which may not have committed\n"
        try write(text)
        try (note + text).write(toFile: bench.refusedPath + ".uncommitted", atomically: false, encoding: .utf8)
        #expect(try bench.run(lines).counts.numbers == [2, 2, 0, 0, 0, 0])
        #expect(!FileManager.default.fileExists(atPath: bench.refusedPath))
        #expect(!FileManager.default.fileExists(atPath: bench.refusedPath + ".uncommitted"))
    }
}
