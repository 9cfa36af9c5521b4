import Base
import Foundation
import TestSupport
import Testing

@testable import Duties

/// What is written, what is written over, and what is left alone.
struct RefusedRowsFileTests {
    private let folder: String
    private let path: String
    private let file: RefusedRowsFile

    init() throws {
        folder = try TemporaryFolder.make()
        path = "\(folder)/refused.csv"
        file = RefusedRowsFile(path, columns: ["id"])
    }

    private func remove() { TemporaryFolder.remove(folder) }

    private var text: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    private func write(_ numbers: ClosedRange<Int64>, behind mark: RefusedRowsFile.Mark) throws -> RefusedRowsFile.Mark
    {
        try file.write(numbers.map { ($0, "why", ["u\($0)"]) }, behind: mark)
    }

    private static func rows(_ numbers: ClosedRange<Int64>) -> String {
        "line,reason,id\r\n" + numbers.map { "\($0),why,u\($0)\r\n" }.joined()
    }

    @Test func `what did not commit is written over, by this process and by the next`() throws {
        defer { remove() }
        try file.check()
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        _ = try write(3...5, behind: first)
        let second = try write(3...3, behind: first)
        #expect(text == Self.rows(1...3))
        // Of a process that was killed: a part, or more than this step has.
        for left in [Self.rows(1...4).dropLast(3), Self.rows(1...6)[...]] {
            try String(left).write(toFile: path, atomically: true, encoding: .utf8)
            _ = try write(4...5, behind: second)
            #expect(text == Self.rows(1...5))
        }
        #expect(second.bytes == Self.rows(1...3).utf8.count)
    }

    @Test func `what a person changed or added while it is written stays`() throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        let ours = text
        for worked in [ours.replacing("u1", with: "x1"), ours + "9,done,u9\r\n", String(ours.dropLast(4)), "x"] {
            try worked.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: RefusedRowsFile.Failure.self) { try write(3...3, behind: first) }
            #expect(text == worked)
        }
        try ours.write(toFile: path, atomically: true, encoding: .utf8)
        _ = try write(3...3, behind: first)
        #expect(text == Self.rows(1...3))
    }

    @Test func `a file that was taken away begins anew, also where the step does not commit`() throws {
        defer { remove() }
        let first = try write(1...20, behind: RefusedRowsFile.Mark())
        try FileManager.default.removeItem(atPath: path)
        _ = try write(21...21, behind: first)
        let second = try write(21...21, behind: first)
        #expect(text == Self.rows(21...21))
        _ = try write(22...22, behind: second)
        #expect(text == Self.rows(21...22))
    }

    @Test func `where it was goes through the cursor of the job, also of an older program`() throws {
        defer { remove() }
        var progress = ImportProgress()
        #expect(progress.words.count == 10 && ImportProgress(words: progress.words) == progress)
        progress.refusedMark = try write(1...2, behind: RefusedRowsFile.Mark())
        #expect(progress.words.count == 11 && ImportProgress(words: progress.words) == progress)
        let older = ["1"] + progress.words.dropFirst().prefix(9)
        let read = try #require(ImportProgress(words: older))
        #expect(read.refusedMark.bytes == progress.refusedMark.bytes && read.refusedMark.hash == nil)
        #expect(read.words == older)
        #expect(ImportProgress(words: progress.words.dropLast() + ["-1"]) == nil)
        #expect(ImportProgress(words: ["2"] + older.dropFirst()) == nil)
    }
}
