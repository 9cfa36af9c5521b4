import CLI
import Foundation
import TestSupport
import Testing

@testable import EntitledApp

/// Files of `entitled export --output`.
@Suite final class NewFileTests {
    private let folder: String
    private var path: String { "\(folder)/rows.csv" }

    init() throws { folder = try TemporaryFolder.make() }
    deinit { TemporaryFolder.remove(folder) }

    private func write(_ text: String, to path: String, replaces: Bool = false) throws {
        let file = try NewFile(path, replaces: replaces)
        try file.write(Array(text.utf8))
        try file.finish()
    }

    private func content(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
    private var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : 0
    }

    @Test func `a file is there once it is whole, and only for its owner`() throws {
        let file = try NewFile(path, replaces: false)
        try file.write(Array("one".utf8))
        #expect(content(path) == nil)
        try file.finish()
        #expect(content(path) == "one" && mode(path) & 0o777 == 0o600 && names == ["rows.csv"])
        #expect(throws: CommandFailure.self) { try self.write("two", to: self.path) }
        try write("two", to: path, replaces: true)
        #expect(content(path) == "two" && names == ["rows.csv"])
    }

    @Test func `what comes meanwhile is not replaced, and nothing is left of the other`() throws {
        try {
            let file = try NewFile(path, replaces: false)
            try "another's".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: CommandFailure.self) { try file.finish() }
        }()
        #expect(content(path) == "another's" && names == ["rows.csv"])
        try { _ = try NewFile("\(folder)/none.csv", replaces: false) }()
        #expect(names == ["rows.csv"])
    }

    @Test func `several are written beside each other, whatever a killed process left`() throws {
        // As in containers, where each program is process 1.
        try "left".write(toFile: "\(path).unfinished-\(getpid())", atomically: true, encoding: .utf8)
        let first = try NewFile(path, replaces: true)
        let second = try NewFile(path, replaces: true)
        try first.write([0x31])
        try second.write([0x32])
        try first.finish()
        try second.finish()
        #expect(content(path) == "2")
    }

    @Test func `a link stays a link`() throws {
        try write("one", to: path)
        let link = "\(folder)/link.csv"
        #expect(symlink(path, link) == 0)
        #expect(throws: CommandFailure.self) { try self.write("two", to: link) }
        try write("two", to: link, replaces: true)
        #expect(content(path) == "two" && mode(link) & S_IFMT == S_IFLNK)
    }

    @Test(arguments: [false, true]) func `a pipe is written to, and stays`(replaces: Bool) throws {
        let pipe = "\(folder)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = TestThread { try FileHandle(forReadingAtPath: pipe)?.readToEnd() }
        try write("one", to: pipe, replaces: replaces)
        #expect(try reader.value() == Data("one".utf8))
        #expect(mode(pipe) & S_IFMT == S_IFIFO)
        #expect(throws: CommandFailure.self) { try self.write("two", to: self.folder, replaces: replaces) }
    }
}
