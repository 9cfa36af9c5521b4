import Base

/// The reason why a journal cannot be used, for the operator. Nothing was changed.
package enum JournalFailure: Error, Sendable, Equatable, CustomStringConvertible {
    case unreadable(file: String, why: String)
    case noJournal(file: String)
    case newer(file: String, format: Int64)
    case otherInstallation(file: String, found: String, wanted: String)
    case damaged(file: String, line: Int, why: String)
    /// The last whole part ends with this line; 0: there is none.
    case cutOff(file: String, line: Int, whole: Int)
    case inUse(file: String)
    case lostKey(file: String, endpoint: String)

    package var description: String {
        switch self {
        case .unreadable(let file, let why): "\(file): \(why)"
        case .noJournal(let file):
            "\(file) is not a journal: its first line is not from `entitled journal export`. Name the file that this"
                + " command wrote"
        case .newer(let file, let format):
            "\(file) has the format \(format) of a newer program, and this one reads \(JournalLine.format): install a newer version"
        case .otherInstallation(let file, let found, let wanted):
            "\(file) is the journal of another installation: it is of \(found), and this database is \(wanted). Name the "
                + "journal, or the database, that belong together"
        case .damaged(let file, let line, let why):
            "\(file) is damaged at line \(line): \(why). Take another copy of the file"
                + (line > 2 ? ", or the part before it: head -n \(line - 1) FILE > PART" : "")
        case .cutOff(let file, let line, let whole):
            whole == 0
                ? "\(file) is cut off after line \(line), and no part of it is whole: take another copy of the file"
                : "\(file) is cut off after line \(line): take another copy of the file, or the part that is whole: "
                    + "head -n \(whole) FILE > PART"
        case .inUse(let file): "another `entitled journal export` writes to \(file): end it, or name another file"
        case .lostKey(let file, let endpoint):
            "the secrets of \(endpoint) in \(file) are sealed with a key that this host lacks: copy webhook-secrets.key into "
                + "state_dir, or set webhooks.secret_keys; if the key is lost, repeat with --without-key, and then run "
                + "`entitled secrets reset`"
        }
    }
}
