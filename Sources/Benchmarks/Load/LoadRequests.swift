/// What a load generator sends, by number.
protocol LoadRequests: AnyObject, Sendable {
    var count: Int { get }
    /// Head and body; the memory lives as long as this.
    func request(_ index: Int) -> UnsafeRawBufferPointer
    /// The `originalTransactionId` that the request is about; nil where that is no matter.
    func purchase(_ index: Int) -> String?
}

extension PresignedRequests: LoadRequests {}

/// Apps that ask for customers, chosen at random, again the same at every run. Each customer has an address of their own,
/// as a proxy would tell it.
///
/// `@unchecked Sendable`: the memory is only read.
final class CustomerRequests: LoadRequests, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let places: [Range<Int>]

    /// - Parameter id: the app user id of a customer from 0 and below `customers`.
    init(
        _ count: Int, of customers: Int, key: String, seed: UInt64, id: (Int) -> String = { "user-\($0)" }
    ) {
        var state = seed
        var bytes: [UInt8] = []
        var places: [Range<Int>] = []
        for _ in 0..<count {
            // xorshift64 (Marsaglia 2003).
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let start = bytes.count
            let number = Int(state % UInt64(customers))
            bytes +=
                """
                GET /v1/subscribers/\(id(number)) HTTP/1.1\r
                Host: localhost\r
                X-Forwarded-For: 10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)\r
                Authorization: Bearer \(key)\r
                X-Platform: iOS\r
                X-RevenueCat-ETag: \r
                X-Client-Bundle-ID: com.example.app\r
                User-Agent: benchmarks\r
                \r\n
                """.utf8
            places.append(start..<bytes.count)
        }
        memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        self.places = places
    }

    deinit { memory.deallocate() }

    var count: Int { places.count }
    func request(_ index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[places[index]]) }
    func purchase(_ index: Int) -> String? { nil }
}
