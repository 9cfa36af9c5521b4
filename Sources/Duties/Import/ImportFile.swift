import Base
import Crypto
import Glibc
import Synchronization

/// The file that is imported: CSV, or CSV that gzip packed, as its first bytes say. It is read in parts, from any place of the
/// CSV.
package final class ImportFile: Sendable {
    package let path: String
    /// When it was written last, in ms since 1970.
    package let modified: Int64
    package let layout: ImportLayout
    /// Whether the CSV is packed.
    package let isPacked: Bool
    private let descriptor: CInt
    /// Of the file as it is.
    private let size: Int64
    /// Of the CSV; of packed CSV it is known once all of it was read.
    private let length: Mutex<Int64?>

    /// Why it cannot be imported.
    package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// A first row that is longer is none.
    private static let longestBeginning = 1 << 20

    package init(_ path: String) throws(Failure) {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(description: "cannot read \(path): \(ImportFile.reason())") }
        do throws(Failure) {
            let state = try ImportFile.state(descriptor, path)
            (size, modified) = state
            let mark = try ImportFile.read(descriptor, path, at: 0, atMost: GzipReader.mark.count)
            isPacked = mark == GzipReader.mark
            length = Mutex(isPacked ? nil : state.size)
            let bytes = try ImportFile.beginning(descriptor, path, isPacked: isPacked)
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

    /// The first bytes of the CSV.
    private static func beginning(
        _ descriptor: CInt, _ path: String, isPacked: Bool
    ) throws(Failure) -> [UInt8] {
        guard isPacked else { return try read(descriptor, path, at: 0, atMost: longestBeginning) }
        do {
            let read = try unpacking(descriptor, path, from: 0) { _ in }
            var bytes: [UInt8] = []
            while bytes.count < longestBeginning {
                let more = try read(longestBeginning - bytes.count)
                guard !more.isEmpty else { break }
                bytes += more
            }
            return bytes
        } catch {
            throw (error as? Failure) ?? Failure(description: "\(path): the file cannot be read: \(error)")
        }
    }

    /// Gives at most so many further bytes of the CSV in a packed file.
    ///
    /// - Parameters:
    ///   - offset: of the CSV. What stands before it is unpacked and passed over.
    ///   - consumed: gets how many bytes of the file were read.
    private static func unpacking(
        _ descriptor: CInt, _ path: String, from offset: Int64, consumed: @escaping (Int64) -> Void
    ) throws(GzipReader.Flaw) -> (Int) throws -> [UInt8] {
        var place: Int64 = 0
        let packed = try GzipReader { count in
            let bytes = try ImportFile.read(descriptor, path, at: place, atMost: count)
            place += Int64(bytes.count)
            consumed(place)
            return bytes
        }
        var toPass = offset
        return { count in
            while toPass > 0 {
                let bytes = try packed.read(atMost: Int(min(toPass, 1 << 18)))
                guard !bytes.isEmpty else { return [] }
                toPass -= Int64(bytes.count)
            }
            return try packed.read(atMost: count)
        }
    }

    /// The part of the CSV that lies before an offset, from 0 to 1; nothing, where it is not known how long the CSV is.
    func share(_ offset: Int64) -> Double {
        guard let length = length.withLock({ $0 }) else { return 0 }
        return Double(offset) / Double(max(1, length))
    }

    /// Reads records from a place on.
    ///
    /// - Parameters:
    ///   - position: in the CSV.
    ///   - consumed: gets how many bytes of the file were read.
    ///   - each: gets all bytes of the CSV that are read.
    func reader(
        at position: CSVReader.Position, consumed: @escaping (Int64) -> Void = { _ in },
        each: @escaping ([UInt8]) -> Void = { _ in }
    ) throws(Failure) -> CSVReader {
        var offset = position.offset
        let (descriptor, path) = (descriptor, path)
        let source: (Int) throws -> [UInt8]
        if isPacked {
            do throws(GzipReader.Flaw) {
                source = try ImportFile.unpacking(descriptor, path, from: offset, consumed: consumed)
            } catch {
                throw Failure(description: "\(path): the file cannot be read: \(error)")
            }
        } else {
            source = { count in
                let bytes = try ImportFile.read(descriptor, path, at: offset, atMost: count)
                offset += Int64(bytes.count)
                consumed(offset)
                return bytes
            }
        }
        return CSVReader(delimiter: layout.delimiter, at: position) { count in
            let bytes = try source(count)
            each(bytes)
            return bytes
        }
    }

    /// Reads all of it once: what cannot be read to its end is not begun.
    ///
    /// - Parameter progress: gets the part that is read, from 0 to 1.
    /// - Returns: the SHA-256 of the CSV in hex, by which the same rows are known again, packed or not.
    package func inspect(progress: (Double) -> Void) throws(Failure) -> String {
        let digest = RunningDigest()
        var consumed: Int64 = 0
        var reader = try reader(at: CSVReader.Position(), consumed: { consumed = $0 }, each: { digest.update($0) })
        var rows: Int64 = 0
        do throws(CSVReader.Failure) {
            while try reader.next() != nil {
                rows += 1
                if rows % 10_000 == 0 { progress(Double(consumed) / Double(max(1, size))) }
            }
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
        let end = reader.position.offset
        length.withLock { $0 = end }
        return Hex.encode(digest.finish())
    }
}
