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

    @Test(.enabled(if: geteuid() == 0, "skipped: only root gives links to another user"))
    func `another user's link in a folder for all decides no place`() throws {
        let shared = "\(folder)/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        let (link, goal) = ("\(shared)/out.csv", "\(folder)/profile.sh")
        #expect(symlink(goal, link) == 0 && lchown(link, 65_534, 65_534) == 0)
        #expect(chmod(shared, 0o1777) == 0)
        for replaces in [false, true] {
            #expect(throws: CommandFailure.self) { try self.write("two", to: link, replaces: replaces) }
        }
        #expect(content(goal) == nil)
        // Of a folder of its own the user decides.
        #expect(chmod(shared, 0o755) == 0)
        try write("two", to: link)
        #expect(content(goal) == "two")
        // The owner of the folder made it.
        #expect(chmod(shared, 0o1777) == 0 && chown(shared, 65_534, 65_534) == 0)
        try write("three", to: link, replaces: true)
        #expect(content(goal) == "three")
    }

    @Test(arguments: FileNaming.allCases) func `a name that is taken stays another's, whatever the file system can do`(
        naming: FileNaming
    ) throws {
        try {
            let file = try NewFile(path, replaces: false, naming: [naming])
            try "another's".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: CommandFailure("cannot write \(path): it is there; --force replaces it")) {
                try file.finish()
            }
        }()
        #expect(content(path) == "another's" && names == ["rows.csv"])
        unlink(path)
        let file = try NewFile(path, replaces: false, naming: [naming])
        try file.write(Array("one".utf8))
        try file.finish()
        #expect(content(path) == "one" && mode(path) & 0o777 == 0o600 && names == ["rows.csv"])
    }

    @Test func `a file that cannot get its name takes no other with it`() throws {
        // The draft is gone: its own reservation must not stay, and a file that was there must.
        let draft = "\(folder)/draft"
        #expect(FileNaming.move(draft, to: path) == ENOENT && names == [])
        #expect(FileNaming.move(draft, to: path, [.reserve]) == ENOENT && names == [])
        try "another's".write(toFile: path, atomically: true, encoding: .utf8)
        for naming in FileNaming.allCases {
            #expect(FileNaming.move(draft, to: path, [naming]) != 0 && content(path) == "another's")
        }
    }

    @Test(arguments: [false, true]) func `a link that leads to no file yet gets one`(replaces: Bool) throws {
        let (first, second) = ("\(folder)/first.csv", "\(folder)/second.csv")
        #expect(symlink("second.csv", first) == 0 && symlink(path, second) == 0)
        try write("one", to: first, replaces: replaces)
        #expect(content(path) == "one" && mode(first) & S_IFMT == S_IFLNK && mode(second) & S_IFMT == S_IFLNK)
        #expect(names == ["first.csv", "rows.csv", "second.csv"])
        #expect(symlink("round", "\(folder)/round") == 0)
        #expect(throws: CommandFailure.self) { try self.write("two", to: "\(self.folder)/round", replaces: replaces) }
    }

    @Test(arguments: ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", "link"])
    func `a descriptor is written to where it stands`(place: String) throws {
        try "earlier,".write(toFile: path, atomically: true, encoding: .utf8)
        // Not closed in other programs, as what the shell opens.
        let descriptor = open(path, O_WRONLY | O_APPEND)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var name = "\(place)\(descriptor)"
        if place == "link" {
            name = "\(folder)/link"
            #expect(symlink("/dev/fd/\(descriptor)", name) == 0)
        }
        try write("one,", to: name)
        try write("two", to: name, replaces: true)
        #expect(content(path) == "earlier,one,two")
        #expect(fcntl(descriptor, F_GETFD) >= 0)
        // What the program opened for itself is not for rows, and what is not open is none.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #expect(throws: CommandFailure.self) { try self.write("three", to: name) }
        #expect(throws: CommandFailure.self) { try self.write("three", to: "/dev/fd/987654") }
        #expect(content(path) == "earlier,one,two")
    }

    @Test func `a file below dev is a file`() throws {
        let path = "/dev/shm/entitled-rows-\(getpid()).csv"
        defer { unlink(path) }
        try write("one, and more", to: path)
        #expect(throws: CommandFailure.self) { try self.write("two", to: path) }
        #expect(content(path) == "one, and more")
        try write("two", to: path, replaces: true)
        #expect(content(path) == "two")
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
