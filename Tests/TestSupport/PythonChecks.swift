import Base
import FoundationEssentials
import Glibc

/// Python with packages from PyPI that are not ours (`deploy/python-checks`), to hold what we send against.
package enum PythonChecks {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let program = "\(root)/.build/python-checks/bin/python"

    /// With the packages that are listed now, not with those of an earlier list.
    package static var isThere: Bool {
        guard access(program, X_OK) == 0, let made = try? read("\(root)/.build/python-checks/made-from.txt") else {
            return false
        }
        let lists = ["python-checks.txt", "python-checks-v2.txt"].compactMap { try? read("\(root)/deploy/\($0)") }
        return made == lists.joined()
    }

    private static func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Why tests that need it are skipped.
    package static let absence = "skipped: the Python packages are not there; run deploy/python-checks"

    /// Runs a program that is in a file; what it prints.
    package static func run(file: String, _ arguments: [String]) throws -> String {
        try TestCommand.run([program, "-I", file] + arguments, within: .seconds(150))
    }

    /// Runs a program with this input, which it finds in the file that its first argument names; its output as JSON.
    package static func run(_ script: String, _ input: JSON) throws -> JSON {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        try input.text.write(toFile: "\(folder)/input.json", atomically: true, encoding: .utf8)
        let output = try TestCommand.run([program, "-I", "-c", script, "\(folder)/input.json"])
        do {
            return try JSON(parsing: Array(output.utf8))
        } catch {
            throw TestFailure("not JSON: \(output)")
        }
    }
}
