import Base
import Database
import Glibc

/// Reads the lines of a journal, checking each.
struct JournalReader {
    private let file: String
    private let descriptor: Int32
    /// Bytes of the file that are left to read.
    private var left: Int64
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var check = JournalLine.start
    /// How many lines were read.
    private(set) var line = 0
    /// Bytes of the lines that were read.
    private(set) var offset: Int64 = 0

    /// A line longer than this was written by no export.
    private static let longest = 16 << 20
    private static let portion = 1 << 20

    /// - Parameters:
    ///   - descriptor: at the beginning of the file; it stays open.
    ///   - length: how many bytes are read; the others are as if they were not there.
    init(_ file: String, descriptor: Int32, length: Int64 = .max) {
        (self.file, self.descriptor, left) = (file, descriptor, length)
    }

    /// The running check after the lines that were read.
    var lastCheck: [UInt8] { check }

    enum Next {
        case line(JournalLine)
        /// Bytes without the end of a line.
        case part
        case end
    }

    /// - Throws: `JournalFailure`.
    mutating func next() throws -> Next {
        guard let bytes = try nextLine() else { return start < buffer.count ? .part : .end }
        line += 1
        if line == 1 {
            guard let format = JournalLine.format(ofHeader: bytes) else { throw JournalFailure.noJournal(file: file) }
            guard format == JournalLine.format else { throw JournalFailure.newer(file: file, format: format) }
        }
        do {
            let found = try JournalLine(parsing: bytes, after: &check)
            offset += Int64(bytes.count + 1)
            return .line(found)
        } catch let fault as JournalLine.Fault {
            throw JournalFailure.damaged(file: file, line: line, why: fault.why)
        }
    }

    private mutating func nextLine() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0a) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            guard !isAtEnd else { return nil }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            guard searched <= JournalReader.longest else {
                throw JournalFailure.damaged(file: file, line: line + 1, why: "it has no end")
            }
            try fill()
        }
    }

    private mutating func fill() throws {
        let old = buffer.count
        let portion = Int(min(left, Int64(JournalReader.portion)))
        buffer.append(contentsOf: repeatElement(0, count: portion))
        let count = buffer.withUnsafeMutableBytes { bytes in
            read(descriptor, bytes.baseAddress?.advanced(by: old), portion)
        }
        let code = errno
        buffer.removeLast(portion - max(0, count))
        left -= Int64(max(0, count))
        guard count >= 0 else {
            throw JournalFailure.unreadable(file: file, why: "cannot be read: \(String(cString: strerror(code)))")
        }
        isAtEnd = count == 0
    }
}
