import Base
import Crypto
import Glibc

/// The file that is imported. It is read in parts, from any place.
package final class ImportFile: Sendable {
    package let path: String
    package let size: Int64
    /// When it was written last, in ms since 1970.
    package let modified: Int64
    package let layout: ImportLayout
    private let descriptor: CInt

    /// Why it cannot be imported.
    package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// A first row that is longer is none.
    private static let beginning = 1 << 20

    package init(_ path: String) throws(Failure) {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(description: "cannot read \(path): \(ImportFile.reason())") }
        do throws(Failure) {
            let state = try ImportFile.state(descriptor, path)
            (size, modified) = state
            let bytes = try ImportFile.read(descriptor, path, at: 0, atMost: ImportFile.beginning)
            do throws(ImportLayout.Flaw) {
                layout = try ImportLayout(beginning: bytes)
            } catch {
                throw Failure(description: "\(path): \(error)")
            }
            self.descriptor = descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    private static func reason() -> String { String(cString: strerror(errno)) }

    private static func state(_ descriptor: CInt, _ path: String) throws(Failure) -> (size: Int64, modified: Int64) {
        var state = stat()
        guard fstat(descriptor, &state) == 0 else { throw Failure(description: "cannot read \(path): \(reason())") }
        // It is read again from the place where an import was ended.
        guard state.st_mode & S_IFMT == S_IFREG else { throw Failure(description: "\(path) is not a regular file") }
        return (Int64(state.st_size), Int64(state.st_mtim.tv_sec) * 1000 + Int64(state.st_mtim.tv_nsec) / 1_000_000)
    }

    /// Whether another program wrote to it since it was opened.
    func isChanged() throws(Failure) -> Bool {
        let state = try ImportFile.state(descriptor, path)
        return state.size != size || state.modified != modified
    }

    private static func read(
        _ descriptor: CInt, _ path: String, at offset: Int64, atMost count: Int
    ) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let found = pread(descriptor, &bytes, count, off_t(offset))
            if found < 0, errno == EINTR { continue }
            guard found >= 0 else { throw Failure(description: "cannot read \(path): \(reason())") }
            bytes.removeLast(count - found)
            return bytes
        }
    }

    /// Reads records from a place on.
    ///
    /// - Parameter each: gets all bytes that are read.
    func reader(at position: CSVReader.Position, each: @escaping ([UInt8]) -> Void = { _ in }) -> CSVReader {
        var offset = position.offset
        let (descriptor, path) = (descriptor, path)
        return CSVReader(delimiter: layout.delimiter, at: position) { count in
            let bytes = try ImportFile.read(descriptor, path, at: offset, atMost: count)
            offset += Int64(bytes.count)
            each(bytes)
            return bytes
        }
    }

    /// Reads all of it once: what cannot be read to its end is not begun.
    ///
    /// - Parameter progress: gets the part that is read, from 0 to 1.
    /// - Returns: its SHA-256 in hex, by which the same file is known again.
    package func inspect(progress: (Double) -> Void) throws(Failure) -> String {
        let digest = RunningDigest()
        var reader = reader(at: CSVReader.Position()) { digest.update($0) }
        var rows: Int64 = 0
        do throws(CSVReader.Failure) {
            while try reader.next() != nil {
                rows += 1
                if rows % 10_000 == 0 { progress(Double(reader.position.offset) / Double(max(1, size))) }
            }
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
        return digest.finish().map { byte in
            let text = String(byte, radix: 16)
            return text.utf8.count == 1 ? "0" + text : text
        }.joined()
    }
}
