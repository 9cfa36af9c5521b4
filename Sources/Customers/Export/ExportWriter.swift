import Base

/// Writes a JSON document piece by piece, so that all of it is never in memory.
struct ExportWriter {
    private let sink: ([UInt8]) throws -> Void
    private var buffer: [UInt8] = []
    /// For each object or list that is open, whether it has something in it.
    private var isBegun: [Bool] = []

    /// Bytes that are passed on at once.
    private static let chunk = 64 << 10

    init(_ sink: @escaping ([UInt8]) throws -> Void) {
        self.sink = sink
    }

    /// A value: of the list that is open, or the member of this name of the object that is open.
    mutating func put(_ value: JSON, _ name: String? = nil) throws {
        begin(name)
        value.write(to: &buffer)
        try pass(atLeast: ExportWriter.chunk)
    }

    /// The same of a row of a table, as `to_jsonb` writes it: with spaces, the shortest names first.
    mutating func put(row: [UInt8], _ name: String? = nil) throws {
        try put(JSON(parsing: row).sortedByName, name)
    }

    mutating func object(_ name: String? = nil, _ body: (inout ExportWriter) throws -> Void) throws {
        try nest(name, "{", "}", body)
    }

    mutating func list(_ name: String, _ body: (inout ExportWriter) throws -> Void) throws {
        try nest(name, "[", "]", body)
    }

    mutating func end() throws {
        buffer.append(0x0a)
        try pass(atLeast: 1)
    }

    private mutating func nest(
        _ name: String?, _ opening: Unicode.Scalar, _ closing: Unicode.Scalar,
        _ body: (inout ExportWriter) throws -> Void
    ) throws {
        begin(name)
        buffer.append(UInt8(ascii: opening))
        isBegun.append(false)
        try body(&self)
        isBegun.removeLast()
        buffer.append(UInt8(ascii: closing))
    }

    private mutating func begin(_ name: String?) {
        if isBegun.last == true { buffer.append(UInt8(ascii: ",")) }
        if !isBegun.isEmpty { isBegun[isBegun.count - 1] = true }
        guard let name else { return }
        JSON.write(name, to: &buffer)
        buffer.append(UInt8(ascii: ":"))
    }

    private mutating func pass(atLeast least: Int) throws {
        guard buffer.count >= least else { return }
        try sink(buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}
