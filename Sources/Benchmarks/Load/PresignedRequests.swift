import Base
import Daemon
import FoundationEssentials
import Glibc
import StoreSimulator

/// Distinct notifications, signed ahead as whole HTTP requests, in a file that is mapped into memory: so the load
/// generator signs nothing and copies nothing.
///
/// The file begins with `magic`; then each has the lengths of its request, its head and its purchase's id (4 bytes each,
/// little-endian), the id, and the request. Its certificates are in the folder `FILE.pki`.
///
/// `@unchecked Sendable`: the mapping is only read.
final class PresignedRequests: @unchecked Sendable {
    private static let magic = Array("entitled requests 1\n".utf8)
    /// Lives that are told side by side, ordered by date.
    private static let livesAtOnce: UInt64 = 200

    private struct Place {
        let start: Int
        let length: Int
        let head: Int
        let purchase: String?
    }

    private let mapping: UnsafeRawBufferPointer
    private var places: [Place] = []
    /// The file of the root certificate that they are signed under.
    let root: String

    private init?(file: String, count: Int) {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0,
            let start = mmap(nil, Int(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED
        else { return nil }
        mapping = UnsafeRawBufferPointer(start: start, count: Int(status.st_size))
        root = PKIFolder("\(file).pki").rootPath
        places = PresignedRequests.places(in: mapping, atMost: count)
    }

    deinit {
        munmap(UnsafeMutableRawPointer(mutating: mapping.baseAddress), mapping.count)
    }

    var count: Int { places.count }

    /// Head and body.
    func request(_ index: Int) -> UnsafeRawBufferPointer {
        let place = places[index]
        return UnsafeRawBufferPointer(rebasing: mapping[place.start..<place.start + place.length])
    }

    func body(_ index: Int) -> [UInt8] {
        let place = places[index]
        return [UInt8](mapping[place.start + place.head..<place.start + place.length])
    }

    /// The `originalTransactionId`; nil of a notification about no purchase.
    func purchase(_ index: Int) -> String? { places[index].purchase }

    var meanBodyBytes: Double {
        Double(places.reduce(0) { $0 + $1.length - $1.head }) / Double(Swift.max(1, count))
    }

    private static func places(in mapping: UnsafeRawBufferPointer, atMost count: Int) -> [Place] {
        guard mapping.count > magic.count, mapping.prefix(magic.count).elementsEqual(magic) else { return [] }
        var places: [Place] = []
        var position = magic.count
        while places.count < count, position + 12 <= mapping.count {
            func number(_ offset: Int) -> Int {
                Int(UInt32(littleEndian: mapping.loadUnaligned(fromByteOffset: position + offset, as: UInt32.self)))
            }
            let (length, head, name) = (number(0), number(4), number(8))
            let start = position + 12 + name
            guard head <= length, start + length <= mapping.count else { return places }
            let purchase = String(decoding: mapping[position + 12..<start], as: UTF8.self)
            places.append(Place(start: start, length: length, head: head, purchase: name == 0 ? nil : purchase))
            position = start + length
        }
        return places
    }

    // MARK: - Making

    /// Takes the file where it has enough, and makes it otherwise.
    static func prepare(_ count: Int, file: String, note: (String) -> Void) throws -> PresignedRequests {
        if let known = PresignedRequests(file: file, count: count), known.count == count { return known }
        note("signing \(count) notifications")
        try make(count, file: file)
        guard let made = PresignedRequests(file: file, count: count), made.count == count else {
            throw BenchmarkFailure("\(file) cannot be read back")
        }
        return made
    }

    private static func make(_ count: Int, file: String) throws {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(file).pki").write(pki, force: true)
        let signer = NotificationSigner(pki)
        let unfinished = "\(file).part"
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw BenchmarkFailure("cannot write \(unfinished): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        try write(magic, to: descriptor)
        var (written, life) = (0, UInt64(0))
        while written < count {
            let told = lives(from: life, until: now).prefix(count - written)
            life += livesAtOnce
            for part in try sign(Array(told), signer) { try write(part, to: descriptor) }
            written += told.count
        }
        guard rename(unfinished, file) == 0 else { throw BenchmarkFailure("cannot make \(file)") }
    }

    private static func lives(from first: UInt64, until end: Int64) -> [StoreNotification] {
        (first..<first + livesAtOnce).flatMap { number in
            Scenario.mixed.notifications(app: StoreApp(), seed: 20_26, number: number, until: end)
        }.enumerated().sorted {
            ($0.element.signedDate, $0.offset) < ($1.element.signedDate, $1.offset)
        }.map(\.element)
    }

    /// By two threads, every other one each.
    private static func sign(_ notifications: [StoreNotification], _ signer: NotificationSigner) throws -> [[UInt8]] {
        let signed = Monitor<[Int: [UInt8]]>([:])
        let threads = (0..<2).map { number in
            ServiceThread("sign-\(number)") {
                for index in stride(from: number, to: notifications.count, by: 2) {
                    guard let record = try? record(notifications[index], signer) else { return }
                    signed.change { $0[index] = record }
                }
            }
        }
        for thread in threads { thread.join() }
        let made = signed.read { $0 }
        return try notifications.indices.map { index in
            guard let record = made[index] else { throw BenchmarkFailure("a notification could not be signed") }
            return record
        }
    }

    private static func record(_ notification: StoreNotification, _ signer: NotificationSigner) throws -> [UInt8] {
        let body = try signer.sign(notification).body
        let head = RequestBytes.head(RequestBytes.notifications, body)
        let purchase = Array((notification.transaction?["originalTransactionId"]?.stringValue ?? "").utf8)
        var record: [UInt8] = []
        for length in [head.count + body.count, head.count, purchase.count] {
            withUnsafeBytes(of: UInt32(length).littleEndian) { record += $0 }
        }
        return record + purchase + head + body
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw BenchmarkFailure("the disk takes no more") }
            rest = rest.dropFirst(Swift.max(0, count))
        }
    }
}
