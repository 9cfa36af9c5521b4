import Base
import Customers
import Database
import Glibc
import Synchronization

/// The rows that need a person, with the reasons, as a table of its own. Only its owner can read it.
///
/// A step of the job writes behind what the committed steps wrote, before it commits. What it writes stands in a file of its own
/// first, `PATH.uncommitted`: so the next step knows rows that did not commit, and takes them away, whatever comes of them then.
/// What this import did not write, a file or a change, is never written over.
package final class RefusedRowsFile: Sendable {
    package let path: String
    private let heading: String
    private let state: Mutex<State>

    package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// What the committed steps wrote.
    struct Mark: Sendable, Equatable {
        var bytes: Int64 = 0
        /// FNV-1a, 64 bits, of these bytes, which tells changes by people; nil: a program that kept none wrote them.
        var hash: UInt64? = Mark.seed

        fileprivate static let seed: UInt64 = 0xcbf2_9ce4_8422_2325

        fileprivate func adding(_ added: some Sequence<UInt8>) -> Mark {
            var mark = self
            for byte in added {
                mark.bytes += 1
                mark.hash = mark.hash.map { ($0 ^ UInt64(byte)) &* 0x0100_0000_01b3 }
            }
            return mark
        }
    }

    /// By which a file is known to be as it was a moment ago.
    private struct Stamp: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init(_ state: stat) {
            (device, inode, size) = (UInt64(state.st_dev), UInt64(state.st_ino), Int64(state.st_size))
            (seconds, nanoseconds) = (state.st_mtim.tv_sec, state.st_mtim.tv_nsec)
        }
    }

    private struct State {
        /// What the newest job of the same import wrote to this path; nil: nothing.
        var former: Mark?
        /// Whether that job goes on: behind its mark may be what did not commit.
        var goesOn = false
        /// Of the file as this object left it.
        var stamp: Stamp?
        /// The mark behind which a file that was taken away began anew; until a step commits, it is given again.
        var anew: Mark?
    }

    /// The parameter of a job that names the file.
    static let parameter = "refused_file"

    /// - Parameters:
    ///   - path: absolute, so that the same file is known again.
    ///   - former: the newest job of the same import: the file that it wrote is written on, or anew.
    package init(_ path: String, columns: [String], of former: Job? = nil) {
        self.path = path
        heading = CSVTable.line(["line", "reason"] + columns)
        var state = State()
        if let former {
            state.goesOn = former.state == .running || former.state == .failed
            let mark = ImportProgress(words: former.cursor)?.refusedMark ?? Mark()
            // Jobs from before the parameter do not name the file. One that goes on may have been given another name.
            let isNamed = (former.parameters[RefusedRowsFile.parameter]?.stringValue ?? path) == path
            let isKnownByHash = state.goesOn && mark.bytes > 0 && mark.hash != nil
            state.former = isNamed && (state.goesOn || mark.bytes > 0) || isKnownByHash ? mark : nil
        }
        self.state = Mutex(state)
    }

    /// Looks at the path before the import begins or goes on. What a job that ended wrote goes, so that the new one has a file of
    /// its own rows alone.
    ///
    /// - Throws: `Failure` where the path has what this import did not write, or nothing can be made there.
    package func check() throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ELOOP { throw taken }
            guard errno == ENOENT else { throw failure() }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            guard access(folder, W_OK | X_OK) == 0 else { throw failure() }
            return
        }
        defer { close(descriptor) }
        let stamp = try stamp(descriptor)
        let known = state.withLock { $0 }
        guard let former = known.former else { throw taken }
        try compare(descriptor, with: former, stamp.size)
        // What is behind the mark of a job that goes on is looked at when the next row is written.
        if known.goesOn { return }
        guard try isOurs(descriptor, behind: former.bytes, stamp.size) else { throw changed }
        guard unlink(path) == 0 else { throw failure() }
        try removeStep()
    }

    /// Ends the file: what did not commit goes, so that it has the rows of the committed steps alone.
    ///
    /// - Parameter mark: of the rows of the committed steps.
    func finish(_ mark: Mark) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT || errno == ELOOP else { throw failure() }
            return try removeStep()
        }
        defer { close(descriptor) }
        // Of a file that began anew, this object knows where its own rows end.
        let base = state.withLock { $0.anew == mark ? Mark() : mark }
        let stamp = try stamp(descriptor)
        // What a person added stays.
        if stamp.size > base.bytes, try isOurs(descriptor, behind: base.bytes, stamp.size) {
            guard base.bytes == 0 ? unlink(path) == 0 : ftruncate(descriptor, off_t(base.bytes)) == 0 else {
                throw failure()
            }
        }
        try removeStep()
    }

    /// - Parameter mark: of the rows of the committed steps.
    /// - Returns: the mark with these.
    func write(
        _ rows: [(line: Int64, reason: String, fields: [String])], behind mark: Mark
    ) throws(Failure) -> Mark {
        rows.isEmpty ? mark : try put(rows, behind: mark)
    }

    private func put(
        _ rows: [(line: Int64, reason: String, fields: [String])], behind mark: Mark
    ) throws(Failure) -> Mark {
        let descriptor = try opened()
        defer { close(descriptor) }
        // One that was there may be readable by others.
        guard fchmod(descriptor, 0o600) == 0 else { throw failure() }
        let stamp = try stamp(descriptor)
        let known = state.withLock { $0 }
        // A file that was taken away since begins anew, also where the step does not commit.
        let isAnew = stamp.size == 0 || known.anew == mark
        let base = isAnew ? Mark() : mark
        let lines = rows.map { CSVTable.line([String($0.line), $0.reason] + $0.fields) }
        let bytes = Array(((base.bytes == 0 ? heading : "") + lines.joined()).utf8)
        if stamp != known.stamp {
            try compare(descriptor, with: base, stamp.size)
            guard try isOurs(descriptor, behind: base.bytes, stamp.size) else { throw changed }
        }
        guard ftruncate(descriptor, off_t(base.bytes)) == 0 else { throw failure() }
        try noteStep(bytes)
        try RefusedRowsFile.write(bytes, to: descriptor, at: base.bytes, else: failure)
        let left = try self.stamp(descriptor)
        state.withLock { state in
            state.stamp = left
            if isAnew { state.anew = mark }
        }
        return base.adding(bytes)
    }

    private static func write(
        _ bytes: [UInt8], to descriptor: CInt, at offset: Int64, else failure: () -> Failure
    ) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            done += count
        }
        guard fsync(descriptor) == 0 else { throw failure() }
    }

    // MARK: - What may not have committed

    private var stepPath: String { "\(path).uncommitted" }
    /// The first line of the rows of a step.
    private static let stepHeading = Array("entitled: rows of a step of an import, which may not have committed\n".utf8)

    /// Puts down what the step is about to write.
    private func noteStep(_ bytes: [UInt8]) throws(Failure) {
        let descriptor = open(stepPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw stepFailure() }
        defer { close(descriptor) }
        _ = try stamp(descriptor)
        var file = stat()
        guard fstat(descriptor, &file) == 0 else { throw stepFailure() }
        // A part of the heading is what a process left that was killed here. In a folder that others write to, a file of theirs
        // would get receipts that they could read.
        let found = try read(descriptor, at: 0, atMost: RefusedRowsFile.stepHeading.count)
        guard RefusedRowsFile.stepHeading.starts(with: found), file.st_uid == geteuid(), file.st_nlink == 1 else {
            throw Failure(
                description: "cannot write \(stepPath): a file that this import did not write is there; move it away")
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else { throw stepFailure() }
        try RefusedRowsFile.write(RefusedRowsFile.stepHeading + bytes, to: descriptor, at: 0, else: stepFailure)
    }

    /// Whether all that is behind the committed steps is what a step wrote, or a part of it.
    private func isOurs(_ descriptor: CInt, behind offset: Int64, _ size: Int64) throws(Failure) -> Bool {
        guard size > offset else { return size == offset }
        let step = open(stepPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard step >= 0 else { return false }
        defer { close(step) }
        let heading = Int64(RefusedRowsFile.stepHeading.count)
        let noted = try stamp(step).size - heading
        let found = try read(step, at: 0, atMost: Int(heading))
        guard noted >= size - offset, found.elementsEqual(RefusedRowsFile.stepHeading) else { return false }
        var place: Int64 = 0
        while place < size - offset {
            let count = Int(min(1 << 20, size - offset - place))
            let found = try read(descriptor, at: offset + place, atMost: count)
            let wanted = try read(step, at: heading + place, atMost: count)
            guard !found.isEmpty, found.elementsEqual(wanted) else { return false }
            place += Int64(found.count)
        }
        return true
    }

    private func removeStep() throws(Failure) {
        let step = open(stepPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard step >= 0 else { return }
        defer { close(step) }
        // Another program's file of this name stays.
        let found = try read(step, at: 0, atMost: RefusedRowsFile.stepHeading.count)
        guard RefusedRowsFile.stepHeading.starts(with: found) else { return }
        guard unlink(stepPath) == 0 || errno == ENOENT else { throw stepFailure() }
    }

    private func stepFailure() -> Failure {
        Failure(description: "cannot write \(stepPath): \(String(cString: strerror(errno)))")
    }

    /// The file, made now or there already and this import's to write to.
    private func opened() throws(Failure) -> CInt {
        let isExpected = state.withLock { $0.former != nil || $0.stamp != nil }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (isExpected ? 0 : O_EXCL), 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw taken }
            throw failure()
        }
        return descriptor
    }

    private func stamp(_ descriptor: CInt) throws(Failure) -> Stamp {
        var state = stat()
        guard fstat(descriptor, &state) == 0 else { throw failure() }
        guard state.st_mode & S_IFMT == S_IFREG else { throw taken }
        return Stamp(state)
    }

    // MARK: - What people changed

    /// Throws where the file does not begin with what the committed steps wrote.
    private func compare(_ descriptor: CInt, with mark: Mark, _ size: Int64) throws(Failure) {
        guard size >= mark.bytes else { throw changed }
        guard let wanted = mark.hash else { return }
        var found = Mark()
        while found.bytes < mark.bytes {
            let part = try read(descriptor, at: found.bytes, atMost: min(1 << 20, Int(mark.bytes - found.bytes)))
            guard !part.isEmpty else { throw changed }
            found = found.adding(part)
        }
        guard found.hash == wanted else { throw changed }
    }

    private func read(_ descriptor: CInt, at offset: Int64, atMost count: Int) throws(Failure) -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes[done...].withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw failure() }
            if got == 0 { break }
            done += got
        }
        return bytes[..<done]
    }

    private var taken: Failure {
        Failure(
            description: "cannot write \(path): a file that this import did not write is there; move it away, or name"
                + " another one with --refused")
    }

    private var changed: Failure {
        Failure(
            description:
                "cannot write \(path): it has what this import did not write, as if a person worked on it; move it"
                + " away, or name another one with --refused")
    }

    private func failure() -> Failure {
        Failure(description: "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
