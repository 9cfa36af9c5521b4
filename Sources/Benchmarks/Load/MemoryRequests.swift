/// Requests in memory, again from the first one after the last.
///
/// `@unchecked Sendable`: the memory is only read.
final class MemoryRequests: LoadRequests, @unchecked Sendable {
    struct Request {
        let bytes: [UInt8]
        /// The `originalTransactionId` that it is about, where that matters.
        var purchase: String?
    }

    private let memory: UnsafeMutableRawBufferPointer
    private let places: [(range: Range<Int>, purchase: String?)]

    init(_ requests: [Request]) {
        let total = requests.reduce(0) { $0 + $1.bytes.count }
        memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, total), alignment: 1)
        var places: [(Range<Int>, String?)] = []
        var start = 0
        for request in requests {
            let range = start..<start + request.bytes.count
            UnsafeMutableRawBufferPointer(rebasing: memory[range]).copyBytes(from: request.bytes)
            places.append((range, request.purchase))
            start = range.upperBound
        }
        self.places = places
    }

    deinit { memory.deallocate() }

    var count: Int { places.count }

    func request(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[places[index % places.count].range])
    }

    func purchase(_ index: Int) -> String? { places[index % places.count].purchase }
}

/// Whole HTTP requests as bytes.
enum RequestBytes {
    static let notifications = "/apple/notifications"

    static func post(_ path: String, _ body: [UInt8], headers: [(name: String, value: String)] = []) -> [UInt8] {
        head(path, body, headers: headers) + body
    }

    static func head(_ path: String, _ body: [UInt8], headers: [(name: String, value: String)] = []) -> [UInt8] {
        var head = """
            POST \(path) HTTP/1.1\r
            Host: localhost\r
            User-Agent: benchmarks\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r

            """
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return Array("\(head)\r\n".utf8)
    }
}
