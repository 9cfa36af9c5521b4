/// Reads CSV (RFC 4180) record by record, in constant memory however long the file is.
///
/// Lines may end with CRLF, LF or CR; the byte order mark of UTF-8 is passed over, and so are empty lines. A record that is
/// wrong by itself says why; the next one is read as if nothing had been.
package struct CSVReader {
    package struct Record: Sendable, Equatable {
        package var fields: [String]
        /// Of its beginning, counted from 1.
        package var line: Int64
        /// Of the byte behind it and its line end.
        package var end: Int64
        /// Why it cannot be read, to complete "the row "; its fields are none then.
        package var flaw: String?
    }

    /// Where reading goes on later.
    package struct Position: Sendable, Equatable {
        package var offset: Int64
        /// Counted from 1.
        package var line: Int64

        package init(offset: Int64 = 0, line: Int64 = 1) {
            self.offset = offset
            self.line = line
        }
    }

    /// What makes the rest of the file unreadable.
    package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// A quoted field that has no end, or none in sight.
        case unclosedQuote(line: Int64)
        case tooLong(line: Int64)
        case unreadable(String)

        package var description: String {
            switch self {
            case .unclosedQuote(let line):
                "line \(line): a quoted field is never closed; a quotation mark inside a field must be doubled"
            case .tooLong(let line):
                "line \(line): a row has more than \(CSVReader.longest >> 20) MB; is a quotation mark missing?"
            case .unreadable(let reason): "the file cannot be read: \(reason)"
            }
        }
    }

    /// A row may hold app receipts, which have a megabyte at most.
    static let longest = 16 << 20
    private static let mostFields = 2000
    private static let chunk = 1 << 18

    private static let (quote, carriageReturn, lineFeed): (UInt8, UInt8, UInt8) = (0x22, 0x0d, 0x0a)
    private static let mark: [UInt8] = [0xef, 0xbb, 0xbf]

    private let delimiter: UInt8
    /// At most so many further bytes; none: the end.
    private let read: (Int) throws -> [UInt8]
    private var buffer: [UInt8] = []
    private var place = 0
    private var isAtEnd = false
    /// Of what is read next.
    package private(set) var position: Position

    /// - Parameters:
    ///   - position: of the first byte that `read` gives: the beginning of a record.
    ///   - read: at most so many further bytes; none: the end of the file.
    package init(delimiter: UInt8, at position: Position = Position(), read: @escaping (Int) throws -> [UInt8]) {
        self.delimiter = delimiter
        self.read = read
        self.position = position
    }

    /// The next byte without taking it; nil: the end.
    private mutating func peek() throws(Failure) -> UInt8? {
        if place < buffer.count { return buffer[place] }
        guard !isAtEnd else { return nil }
        do {
            buffer = try read(CSVReader.chunk)
        } catch {
            throw .unreadable("\(error)")
        }
        place = 0
        isAtEnd = buffer.isEmpty
        return buffer.first
    }

    private mutating func take() {
        place += 1
        position.offset += 1
    }

    /// Takes the end of a line; false where there is none here.
    private mutating func takeLineEnd() throws(Failure) -> Bool {
        guard let byte = try peek(), byte == CSVReader.carriageReturn || byte == CSVReader.lineFeed else {
            return false
        }
        take()
        if byte == CSVReader.carriageReturn, try peek() == CSVReader.lineFeed { take() }
        position.line += 1
        return true
    }

    private mutating func skipMark() throws(Failure) {
        guard position.offset == 0, try peek() == CSVReader.mark[0] else { return }
        // Reading may give one byte at a time.
        while buffer.count < CSVReader.mark.count {
            do {
                let more = try read(CSVReader.chunk)
                guard !more.isEmpty else { return }
                buffer += more
            } catch {
                throw .unreadable("\(error)")
            }
        }
        guard buffer.starts(with: CSVReader.mark) else { return }
        place += CSVReader.mark.count
        position.offset += Int64(CSVReader.mark.count)
    }

    /// The next record; nil: there is none.
    package mutating func next() throws(Failure) -> Record? {
        try skipMark()
        while try takeLineEnd() {}
        guard try peek() != nil else { return nil }
        let start = position
        var record = Record(fields: [], line: start.line, end: 0, flaw: nil)
        var field: [UInt8] = []
        repeat {
            field.removeAll(keepingCapacity: true)
            if try peek() == CSVReader.quote {
                take()
                try takeQuoted(&field, start)
                if let byte = try peek(), byte != delimiter, byte != CSVReader.carriageReturn,
                    byte != CSVReader.lineFeed
                {
                    record.flaw = "has text behind the closing quotation mark of field \(record.fields.count + 1)"
                    try takePlain(&field, start)
                }
            } else {
                try takePlain(&field, start)
                if field.contains(CSVReader.quote) {
                    record.flaw = "has a quotation mark inside of field \(record.fields.count + 1), which is not quoted"
                }
            }
            if record.fields.count < CSVReader.mostFields {
                add(field, to: &record)
            } else if record.flaw == nil {
                record.flaw = "has more than \(CSVReader.mostFields) fields"
            }
        } while try takeDelimiter(start)
        _ = try takeLineEnd()
        record.end = position.offset
        if record.flaw != nil { record.fields = [] }
        return record
    }

    private func add(_ field: [UInt8], to record: inout Record) {
        if let text = String(validating: field, as: UTF8.self) {
            if field.contains(0) { record.flaw = "has a NUL character in field \(record.fields.count + 1)" }
            record.fields.append(text)
        } else {
            record.flaw = "is not UTF-8 in field \(record.fields.count + 1): save the file in UTF-8"
            record.fields.append("")
        }
    }

    private mutating func takeDelimiter(_ start: Position) throws(Failure) -> Bool {
        guard try peek() == delimiter else { return false }
        take()
        // A row of empty fields has an end, too.
        guard position.offset - start.offset < Int64(CSVReader.longest) else { throw .tooLong(line: start.line) }
        return true
    }

    private mutating func takePlain(_ field: inout [UInt8], _ start: Position) throws(Failure) {
        while let byte = try peek(), byte != delimiter, byte != CSVReader.carriageReturn, byte != CSVReader.lineFeed {
            field.append(byte)
            take()
            guard position.offset - start.offset < Int64(CSVReader.longest) else { throw .tooLong(line: start.line) }
        }
    }

    /// Up to the closing quotation mark.
    private mutating func takeQuoted(_ field: inout [UInt8], _ start: Position) throws(Failure) {
        while let byte = try peek() {
            guard position.offset - start.offset < Int64(CSVReader.longest) else { throw .tooLong(line: start.line) }
            take()
            if byte == CSVReader.quote {
                guard try peek() == CSVReader.quote else { return }
                take()
            } else if byte == CSVReader.lineFeed {
                position.line += 1
            }
            field.append(byte)
        }
        throw .unclosedQuote(line: start.line)
    }
}
