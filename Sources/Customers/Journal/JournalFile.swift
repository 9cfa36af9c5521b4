import Base
import Crypto
import Database
import Glibc

/// The file of a journal, while an export adds to it. Lines stay, but for those that a deletion reaches: what a database
/// that was restored has lost is in them alone.
package final class JournalFile {
    private let path: String
    private let installation: String
    private var descriptor: Int32
    private var check = JournalLine.start
    private var output: [UInt8] = []
    private var part = 0
    /// The entries of the file, by the beginnings of the digests of their ids.
    private var known: Set<UInt64> = []
    /// What the file says of deletions.
    package private(set) var deleted: DeletedNames
    /// Whether a deletion was added whose lines may still be there.
    package private(set) var isSweepDue = false
    /// Where the last export was that came to its end, and which entries it left out.
    package private(set) var mark: (mark: JournalQuery.Mark, since: Int64?)?

    /// Entries of a part: so many may be lost where a file is cut off.
    private static let partSize = 1_000
    private static let bufferSize = 1 << 18

    /// Opens the file, or makes it for its owner alone (mode 0600). What a killed export left unfinished at its end goes.
    ///
    /// - Parameter names: none, with the salt of the database.
    /// - Throws: `JournalFailure`.
    package init(_ path: String, names: DeletedNames) throws {
        self.path = path
        deleted = names
        installation = names.installation
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalFile.failure(path, "cannot be written") }
        try take()
    }

    deinit { close(descriptor) }

    private static func failure(_ path: String, _ what: String) -> JournalFailure {
        .unreadable(file: path, why: "\(what): \(String(cString: strerror(errno)))")
    }

    private func take() throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw JournalFailure.unreadable(file: path, why: "is no file")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw JournalFailure.inUse(file: path) }
        if status.st_size == 0 {
            try begin()
        } else {
            try readAll()
        }
        guard fchmod(descriptor, 0o600) == 0 else { throw JournalFile.failure(path, "its mode cannot be set to 0600") }
    }

    private func begin() throws {
        check = JournalLine.start
        write(.header(installation: installation))
        try end(nil, since: nil)
    }

    private func readAll() throws {
        var reader = JournalReader(path, descriptor: descriptor)
        var whole: (offset: Int64, check: [UInt8])?
        reading: while true {
            switch try reader.next() {
            case .end, .part: break reading
            case .line(.header(let found)):
                guard found == installation else {
                    throw JournalFailure.otherInstallation(file: path, found: found, wanted: installation)
                }
            case .line(.entry(let entry)): note(entry)
            case .line(.end(_, let mark, let since)):
                whole = (reader.offset, reader.lastCheck)
                if let mark {
                    self.mark = (mark, since)
                    isSweepDue = false
                }
            }
        }
        guard let whole else {
            // The export that made it was killed at once.
            guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
                throw JournalFile.failure(path, "cannot be written")
            }
            (known, isSweepDue) = ([], false)
            return try begin()
        }
        check = whole.check
        guard ftruncate(descriptor, off_t(whole.offset)) == 0, lseek(descriptor, off_t(whole.offset), SEEK_SET) >= 0
        else { throw JournalFile.failure(path, "cannot be written") }
        if reader.offset > whole.offset { try readKnownAgain() }
    }

    /// After the end of the file was cut.
    private func readKnownAgain() throws {
        known = []
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw JournalFile.failure(path, "cannot be read") }
        var reader = JournalReader(path, descriptor: descriptor)
        while case .line(let line) = try reader.next() {
            if case .entry(let entry) = line { note(entry) }
        }
    }

    private static func key(_ id: String) -> UInt64 {
        Digest.sha256(Array(id.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func note(_ entry: JournalEntry) {
        known.insert(JournalFile.key(entry.id))
        if entry.kind == .deletion { isSweepDue = true }
        for (hash, at) in entry.deletedHashes { deleted.add(hash, at: at) }
    }

    // MARK: - Adding

    /// Adds an entry; false: it is there already.
    package func add(_ entry: JournalEntry) throws -> Bool {
        guard !known.contains(JournalFile.key(entry.id)) else { return false }
        note(entry)
        write(.entry(entry))
        part += 1
        if part >= JournalFile.partSize { try end(nil, since: nil) }
        return true
    }

    /// Ends what was added, on the disk: with a mark, everything until then is in the file. Where nothing was added, the file
    /// stays as it is.
    package func end(_ mark: JournalQuery.Mark?, since: Int64?) throws {
        if part == 0, output.isEmpty, mark == nil || self.mark != nil {
            if let mark { self.mark = (mark, since) }
            return
        }
        try endPart(mark, since)
        if let mark { self.mark = (mark, since) }
    }

    private func endPart(_ mark: JournalQuery.Mark?, _ since: Int64?) throws {
        write(.end(entries: part, mark: mark, since: since))
        part = 0
        try flush()
        guard fdatasync(descriptor) == 0 else { throw JournalFile.failure(path, "cannot be written") }
    }

    /// Forgets where the last export was.
    package func forgetMark() { mark = nil }

    private func write(_ line: JournalLine) {
        output += line.bytes(after: &check) + [0x0a]
    }

    private func flush() throws {
        var done = 0
        while done < output.count {
            let count = output.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw JournalFile.failure(path, "cannot be written") }
            done += count
        }
        output.removeAll(keepingCapacity: true)
    }

    // MARK: - Deletions

    /// Removes the lines that a deletion reaches; how many. The file is replaced at once, or stays as it was.
    ///
    /// - Parameter deleted: the deletions that the database has, beside those of the file.
    package func sweep(_ deleted: DeletedNames) throws -> Int {
        try end(nil, since: nil)
        var names = deleted
        names.formUnion(self.deleted)
        let dropped = try rewrite(without: names)
        (isSweepDue, mark) = (false, nil)
        return dropped
    }

    private func rewrite(without names: DeletedNames) throws -> Int {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw JournalFile.failure(path, "cannot be read") }
        let draft = "\(path).new"
        unlink(draft)
        let new = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard new >= 0, flock(new, LOCK_EX | LOCK_NB) == 0 else {
            throw JournalFile.failure(draft, "cannot be written")
        }
        var reader = JournalReader(path, descriptor: descriptor)
        let old = (descriptor: descriptor, check: check, part: part)
        var (kept, dropped): (Set<UInt64>, Int) = ([], 0)
        do {
            (descriptor, check, part) = (new, JournalLine.start, 0)
            write(.header(installation: installation))
            while case .line(let line) = try reader.next() {
                guard case .entry(let entry) = line else { continue }
                guard !names.cover(entry) else {
                    dropped += 1
                    continue
                }
                kept.insert(JournalFile.key(entry.id))
                write(.entry(entry))
                part += 1
                if part >= JournalFile.partSize {
                    write(.end(entries: part, mark: nil, since: nil))
                    part = 0
                }
                if output.count >= JournalFile.bufferSize { try flush() }
            }
            try endPart(nil, nil)
            guard dropped > 0 else {
                close(new)
                unlink(draft)
                (descriptor, check, part) = old
                guard lseek(descriptor, 0, SEEK_END) >= 0 else { throw JournalFile.failure(path, "cannot be written") }
                return 0
            }
            guard rename(draft, path) == 0 else { throw JournalFile.failure(path, "cannot be replaced") }
        } catch {
            output = []
            if descriptor != old.descriptor { close(new) }
            unlink(draft)
            (descriptor, check, part) = old
            throw error
        }
        close(old.descriptor)
        syncFolder()
        known = kept
        return dropped
    }

    private func syncFolder() {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let handle = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_CLOEXEC)
        guard handle >= 0 else { return }
        fsync(handle)
        close(handle)
    }
}
