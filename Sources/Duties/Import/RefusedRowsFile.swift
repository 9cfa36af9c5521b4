import Customers
import Glibc

/// The rows that need a person, with the reasons, as a table of its own. Only its owner can read it.
///
/// A step of the job writes behind what the steps before wrote, before it commits; what a step wrote that did not commit is
/// written over by the next one.
package final class RefusedRowsFile: Sendable {
    package let path: String
    private let heading: String

    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init(_ path: String, columns: [String]) {
        self.path = path
        heading = CSVTable.line(["line", "reason"] + columns)
    }

    /// Makes the file without rows, in place of one that is there.
    ///
    /// - Returns: where the heading ends.
    package func begin() throws(Failure) -> Int64 { try put([], at: 0) }

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
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure() }
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

    private func failure() -> Failure {
        Failure(description: "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
