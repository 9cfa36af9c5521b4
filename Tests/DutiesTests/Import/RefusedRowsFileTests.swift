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

    @Test func `what did not commit is written over by this process`() throws {
        defer { remove() }
        try file.check()
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        _ = try write(3...5, behind: first)
        let second = try write(3...3, behind: first)
        #expect(text == Self.rows(1...3))
        #expect(second.bytes == Self.rows(1...3).utf8.count)
    }

    /// A process was killed in a step; the next one finds a part of its rows, or more than its first step has.
    @Test(arguments: [rows(1...3).dropLast(3), rows(1...6)[...], rows(1...2)[...]])
    func `what did not commit is written once more by the next process`(left: Substring) throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        try String(left).write(toFile: path, atomically: true, encoding: .utf8)
        let second = try write(3...4, behind: first)
        _ = try write(5...6, behind: second)
        #expect(text == Self.rows(1...6))
    }

    @Test func `what a person added behind rows that did not commit stays`() throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        let worked = Self.rows(1...3) + "9,done,u9\r\n"
        try worked.write(toFile: path, atomically: true, encoding: .utf8)
        let second = try write(3...3, behind: first)
        #expect(text == worked)
        for _ in 0..<2 { #expect(throws: RefusedRowsFile.Failure.self) { try write(4...4, behind: second) } }
        #expect(text == worked)
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

    /// The new file may be shorter or longer than the former one was.
    @Test(arguments: [1, 20] as [Int64])
    func `a file that was taken away begins anew, also where the step does not commit`(former: Int64) throws {
        defer { remove() }
        let first = try write(1...former, behind: RefusedRowsFile.Mark())
        try FileManager.default.removeItem(atPath: path)
        _ = try write(21...30, behind: first)
        let second = try write(21...30, behind: first)
        #expect(text == Self.rows(21...30))
        _ = try write(31...31, behind: second)
        #expect(text == Self.rows(21...31))
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
