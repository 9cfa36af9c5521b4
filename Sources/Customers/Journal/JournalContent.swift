import Base
import Database
import Glibc

/// A journal that was read once from its beginning to its end and found whole: what has to be known of it before anything is
/// applied.
struct JournalContent {
    let installation: String
    /// Hashes of deleted names.
    private(set) var deleted: DeletedNames
    private(set) var deletions: [JournalEntry] = []
    /// What the file has of each endpoint, in the order in which endpoints come first.
    private(set) var endpoints: [EndpointHistory] = []
    /// The greatest number of an action.
    private(set) var lastAction: Int64 = 0
    /// Ids, mostly pseudonyms, that actions delete, with the last of these numbers.
    private(set) var ends: [String: Int64] = [:]
    private(set) var entries = 0
    /// Entries about endpoints that later ones replace.
    var replaced: Int { endpoints.reduce(0) { $0 + $1.entries.count - 1 } }

    /// - Parameter names: none, with the salt of the database.
    /// - Throws: `JournalFailure`.
    init(_ file: JournalHandle, names: DeletedNames) throws {
        deleted = names
        installation = names.installation
        var reader = try file.reader()
        var places: [String: Int] = [:]
        var (whole, part) = (0, 0)
        // Entries of a part that is not read to its end.
        var open: [JournalEntry] = []
        reading: while true {
            switch try reader.next() {
            case .end: break reading
            case .part:
                // An export writes it at this moment.
                if file.isBeingWritten, whole > 0 { break reading }
                throw JournalFailure.cutOff(file: file.path, line: reader.line, whole: whole)
            case .line(.header(let found)):
                guard found == installation else {
                    throw JournalFailure.otherInstallation(file: file.path, found: found, wanted: installation)
                }
            case .line(.end(let count, _, _)):
                guard count == part else {
                    throw JournalFailure.damaged(
                        file: file.path, line: reader.line, why: "entries before it are missing")
                }
                for entry in open { note(entry, &places) }
                (whole, part, open) = (reader.line, 0, [])
                file.length = reader.offset
            case .line(.entry(let entry)):
                part += 1
                open.append(entry)
            }
        }
        guard reader.line > 0 else { throw JournalFailure.noJournal(file: file.path) }
        guard whole == reader.line || file.isBeingWritten && whole > 0 else {
            throw JournalFailure.cutOff(file: file.path, line: reader.line, whole: whole)
        }
    }

    private mutating func note(_ entry: JournalEntry, _ places: inout [String: Int]) {
        entries += 1
        switch entry.kind {
        case .deletion:
            deletions.append(entry)
            for (hash, at) in entry.deletedHashes { deleted.add(hash, at: at) }
        case .endpoint:
            guard let id = entry.row["id"]?.stringValue else { return }
            if let place = places[id] {
                endpoints[place].entries.append(entry)
            } else {
                places[id] = endpoints.count
                endpoints.append(EndpointHistory(entry))
            }
        case .action:
            guard let number = entry.row["seq"]?.intValue else { return }
            lastAction = max(lastAction, number)
            if entry.row["kind"] == .string(ActionTable.Kind.delete.rawValue),
                let id = entry.row["app_user_id"]?.stringValue
            {
                ends[id] = max(ends[id] ?? 0, number)
            }
        case .sealingKey, .apiKey, .consoleUser, .operatorKey, .customer, .fact, .attribute: break
        }
    }
}

/// The open file of a journal that is only read, up to where it is whole: an export may add to it meanwhile.
final class JournalHandle {
    let path: String
    /// Whether an export had the file when it was opened.
    let isBeingWritten: Bool
    /// How many bytes of it are read.
    var length: Int64
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw JournalFailure.unreadable(file: path, why: "cannot be read: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw JournalFailure.unreadable(file: path, why: "is no file")
        }
        isBeingWritten = flock(descriptor, LOCK_SH | LOCK_NB) != 0
        flock(descriptor, LOCK_UN)
        length = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// From the beginning.
    func reader() throws -> JournalReader {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw JournalFailure.unreadable(file: path, why: "cannot be read: \(String(cString: strerror(errno)))")
        }
        return JournalReader(path, descriptor: descriptor, length: length)
    }
}
