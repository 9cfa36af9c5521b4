import Foundation
import Postgres

/// The statements that sessions of one database send, as the server logs them; make it before the sessions.
package struct StatementLog: Sendable {
    private let database: TestDatabase
    private let path: String

    package init(_ database: TestDatabase) throws {
        self.database = database
        path = try TestCluster.shared.folder + "/postgres/server.log"
        try database.execute("ALTER DATABASE \(database.name) SET log_statement = 'all'")
    }

    /// How far the log is now.
    package func mark() throws -> UInt64 {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64 ?? 0
    }

    /// What the sessions that are open now sent since the mark, in the order of the log, without those of the user who owns the
    /// database. White space is one blank.
    package func statements(since mark: UInt64) throws -> [String] {
        let sessions = Set(
            try database.connect().query(
                "SELECT pid::int8 AS pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).map { try $0.int(0) })
        guard let file = FileHandle(forReadingAtPath: path) else { throw TestFailure("there is no log of the server") }
        try file.seek(toOffset: mark)
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        var entries: [(session: Int64, text: String)] = []
        for line in text.split(separator: "\n") {
            if let begin = line.prefixMatch(of: #/\d{4}-\d\d-\d\d [^\[]*\[(\d+)\] [^:]*: +/#) {
                entries.append((Int64(begin.1) ?? 0, String(line)))
            } else if !entries.isEmpty {
                entries[entries.count - 1].text += "\n" + line
            }
        }
        return entries.filter { sessions.contains($0.session) }.compactMap { entry in
            entry.text.firstMatch(of: #/LOG: +(?:execute [^:]+|statement): /#).map {
                entry.text[$0.range.upperBound...].split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
            }
        }
    }
}
