import Foundation
import TestSupport

/// The gzip program of the system, which packs what our reader unpacks.
enum Gzip {
    static func pack(_ bytes: [UInt8], _ options: String...) throws -> [UInt8] {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let path = "\(folder)/bytes"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/bin/gzip")
        program.arguments = options + [path]
        try program.run()
        program.waitUntilExit()
        guard program.terminationStatus == 0 else { throw TestFailure("gzip failed") }
        return Array(try Data(contentsOf: URL(fileURLWithPath: "\(path).gz")))
    }
}
