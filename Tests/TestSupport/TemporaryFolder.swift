import FoundationEssentials
import Glibc

/// Folders under /tmp: short enough for sockets, and open to the user that Postgres runs as.
package enum TemporaryFolder {
    /// The caller removes it.
    package static func make() throws -> String {
        var template = Array("/tmp/entitled-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("no temporary folder") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o711)
        return path
    }

    /// A folder that is removed after the body or, with a server that still runs in it, when the process ends.
    package static func with<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = try make()
        let watchdog = try Watchdog(folder: folder)
        defer { remove(folder) }
        return try withExtendedLifetime(watchdog) { try body(folder) }
    }

    package static func remove(_ folder: String) {
        guard folder.hasPrefix("/tmp/entitled-test-") else { return }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
