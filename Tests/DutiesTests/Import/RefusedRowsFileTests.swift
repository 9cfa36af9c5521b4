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

    private var stepPath: String { "\(path).uncommitted" }

    /// As another process finds it, to whom a file that was not touched since is as new.
    private func leave(_ text: some StringProtocol) throws {
        try String(text).write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// A process was killed in a step: of its three rows the next one finds all, a part, or none.
    @Test(arguments: [0, 1, 3, 13, 22, 30])
    func `what did not commit goes, whatever the next process writes`(missing: Int) throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        _ = try write(3...5, behind: first)
        #expect(text == Self.rows(1...5))
        try leave(String(decoding: text.utf8.dropLast(missing), as: UTF8.self))
        // Row 3 is imported at the second try.
        let second = try write(4...4, behind: first)
        #expect(text == Self.rows(1...2) + "4,why,u4\r\n")
        _ = try write(6...6, behind: second)
        #expect(text == Self.rows(1...2) + "4,why,u4\r\n6,why,u6\r\n")
    }

    @Test func `at the end the file has the rows of the committed steps alone`() throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        _ = try write(3...5, behind: first)
        try leave(text)
        try file.finish(first)
        #expect(text == Self.rows(1...2) && !FileManager.default.fileExists(atPath: stepPath))
        // Where there are none, there is no file.
        try FileManager.default.removeItem(atPath: path)
        _ = try write(1...2, behind: RefusedRowsFile.Mark())
        try file.finish(RefusedRowsFile.Mark())
        #expect(!FileManager.default.fileExists(atPath: path) && !FileManager.default.fileExists(atPath: stepPath))
        try file.finish(RefusedRowsFile.Mark())
    }

    @Test func `what a person wrote stays at the end, and so does another program's file of that name`() throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        try leave(text + "9,done,u9\r\n")
        try file.finish(first)
        #expect(text == Self.rows(1...2) + "9,done,u9\r\n")
        try leave(Self.rows(1...2))
        try "minutes\n".write(toFile: stepPath, atomically: true, encoding: .utf8)
        #expect {
            try write(3...3, behind: first)
        } throws: {
            "\($0)".contains("refused.csv.uncommitted: a file that this import did not write")
        }
        try file.finish(first)
        #expect(try String(contentsOfFile: stepPath, encoding: .utf8) == "minutes\n" && text == Self.rows(1...2))
    }

    @Test func `the rows of a step are noted for their owner alone`() throws {
        defer { remove() }
        _ = try write(1...2, behind: RefusedRowsFile.Mark())
        let noted = try String(contentsOfFile: stepPath, encoding: .utf8)
        #expect(noted.hasSuffix("committed\n" + Self.rows(1...2)))
        let mode = try FileManager.default.attributesOfItem(atPath: stepPath)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a file that another user laid there, or that has another name, too, gets no rows`() throws {
        defer { remove() }
        for isForeign in [true, false] where !isForeign || geteuid() == 0 {
            try "".write(toFile: stepPath, atomically: false, encoding: .utf8)
            if isForeign {
                #expect(chown(stepPath, 65_534, 65_534) == 0)
            } else {
                #expect(link(stepPath, stepPath + ".too") == 0)
            }
            #expect {
                try write(1...2, behind: RefusedRowsFile.Mark())
            } throws: {
                "\($0)".contains("a file that this import did not write")
            }
            #expect(try String(contentsOfFile: stepPath, encoding: .utf8).isEmpty)
            try FileManager.default.removeItem(atPath: stepPath)
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func `what a person added behind rows that did not commit stays`() throws {
        defer { remove() }
        let first = try write(1...2, behind: RefusedRowsFile.Mark())
        _ = try write(3...3, behind: first)
        let worked = Self.rows(1...3) + "9,done,u9\r\n"
        try leave(worked)
        for _ in 0..<2 { #expect(throws: RefusedRowsFile.Failure.self) { try write(3...3, behind: first) } }
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
