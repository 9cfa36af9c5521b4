import Base
import Customers
import Database
import Glibc
import Synchronization

/// The rows that need a person, with the reasons, as a table of its own. Only its owner can read it.
///
/// A step of the job writes behind what the steps before wrote, before it commits; what a step wrote that did not commit is
/// written over by the next one. A file that this import did not write is never written to.
package final class RefusedRowsFile: Sendable {
    package let path: String
    private let heading: String
    /// Whether a file of that name is this import's.
    private let isOwn: Mutex<Bool>

    package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The parameter of a job that names the file.
    static let parameter = "refused_file"

    /// - Parameters:
    ///   - path: absolute, so that the same file is known again.
    ///   - former: the newest job of the same import: the file that it wrote is written on, or anew.
    package init(_ path: String, columns: [String], of former: Job? = nil) {
        self.path = path
        heading = CSVTable.line(["line", "reason"] + columns)
        isOwn = Mutex(former.map { RefusedRowsFile.wrote($0, path) } ?? false)
    }

    private static func wrote(_ job: Job, _ path: String) -> Bool {
        var state = stat()
        let written = ImportProgress(words: job.cursor)?.refusedBytes ?? 0
        // One that was edited since the import ended is an operator's work.
        if written > 0, lstat(path, &state) == 0, Int64(state.st_size) == written { return true }
        // A step may have written what did not commit. Jobs from before the parameter do not name the file.
        return (job.state == .running || job.state == .failed)
            && (job.parameters[parameter]?.stringValue ?? path) == path
    }

    /// Fails where another file has the name, or none can be made.
    package func check() throws(Failure) {
        var state = stat()
        guard lstat(path, &state) == 0 else {
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            guard access(folder, W_OK | X_OK) == 0 else { throw failure() }
            return
        }
        if !isOwn.withLock({ $0 }) { throw taken }
    }

    /// - Parameter offset: where the rows of the committed steps end; 0: there are none.
    /// - Returns: where these end.
    package func write(
        _ rows: [(line: Int64, reason: String, fields: [String])], at offset: Int64
    ) throws(Failure) -> Int64 {
        rows.isEmpty ? offset : try put(rows, at: offset)
    }

    private func put(
        _ rows: [(line: Int64, reason: String, fields: [String])], at offset: Int64
    ) throws(Failure) -> Int64 {
        let descriptor = try opened()
        defer { close(descriptor) }
        var state = stat()
        // One that was there may be readable by others.
        guard fstat(descriptor, &state) == 0, fchmod(descriptor, 0o600) == 0 else { throw failure() }
        // A file that was taken away since, or another one than before, begins anew.
        let offset = min(offset, Int64(state.st_size))
        guard ftruncate(descriptor, off_t(offset)) == 0 else { throw failure() }
        let lines = rows.map { CSVTable.line([String($0.line), $0.reason] + $0.fields) }
        let bytes = Array(((offset == 0 ? heading : "") + lines.joined()).utf8)
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
        return offset + Int64(bytes.count)
    }

    /// The file, made now or known to be this import's.
    private func opened() throws(Failure) -> CInt {
        let isOwn = isOwn.withLock { $0 }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (isOwn ? 0 : O_EXCL), 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw taken }
            throw failure()
        }
        guard beginsAsOurs(descriptor) else {
            close(descriptor)
            throw taken
        }
        self.isOwn.withLock { $0 = true }
        return descriptor
    }

    /// Whether the file is empty, or has the heading of this one, or as much of it as an interrupted step wrote.
    private func beginsAsOurs(_ descriptor: CInt) -> Bool {
        let wanted = Array(heading.utf8)
        var found = [UInt8](repeating: 0, count: wanted.count)
        let count = pread(descriptor, &found, wanted.count, 0)
        guard count >= 0 else { return false }
        return wanted.starts(with: found.prefix(count))
    }

    private var taken: Failure {
        Failure(
            description: "cannot write \(path): a file that this import did not write is there; move it away, or name"
                + " another one with --refused")
    }

    private func failure() -> Failure {
        Failure(description: "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
