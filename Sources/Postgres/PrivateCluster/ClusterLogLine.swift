import Daemon

/// A line of the server's log, as `log_line_prefix` of `PrivateClusterSettings` has it: `time [process] kind LOG:  text`.
struct ClusterLogLine: Equatable {
    /// LOG, WARNING, ERROR, FATAL, PANIC.
    let severity: String
    /// The kind of process (Postgres, `pg_stat_activity.backend_type`); empty before the server has read its settings.
    let process: String
    let text: String

    /// Nil for a line that continues or explains another one.
    init?(parsing line: some StringProtocol) {
        guard line.first?.isNumber == true, let begin = line.firstRange(of: "] "),
            let end = line[begin.upperBound...].firstRange(of: ":  ")
        else { return nil }
        let words = line[begin.upperBound..<end.lowerBound].split(separator: " ")
        guard let severity = words.last, ClusterLogLine.severities.contains(String(severity)) else { return nil }
        self.severity = String(severity)
        process = words.dropLast().joined(separator: " ")
        text = String(line[end.upperBound...])
    }

    private static let severities: Set = ["LOG", "WARNING", "ERROR", "FATAL", "PANIC"]
    private static let sessions: Set = ["client backend", "parallel worker", "not initialized"]

    /// Nil for a line that stays in the file. A panic ends the server, whichever process has it.
    var level: Logger.Level? {
        switch severity {
        case "PANIC": .error
        case _ where ClusterLogLine.sessions.contains(process): nil
        case "FATAL": .error
        case "ERROR", "WARNING": .warning
        default: .info
        }
    }
}
