import Base
import Postgres

/// One of 256 lines in which notifications wait; everything about one purchase is always in the same lane.
package struct Lane: Hashable, Sendable, Comparable, ColumnDecodable {
    package let number: Int16

    package static let count = 256
    /// The worker that holds it is the leader and runs the duties.
    package static let first = Lane(number: 0)
    package static let all = (0..<Int16(count)).map(Lane.init(number:))

    package init(number: Int16) {
        self.number = number
    }

    package init(column: PostgresColumnValue) throws(PostgresError) {
        let code = try column.int()
        guard 0..<Int64(Lane.count) ~= code else { throw column.unknown(code, of: Lane.self) }
        number = Int16(code)
    }

    /// The lane of a purchase; of a notification without one, its UUID is the subject.
    ///
    /// FNV-1a of 64 bits, folded to 8. Fixed: another function would leave the rows behind.
    package init(app: String, environment: StoreEnvironment, subject: String) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(app)\u{0}\(environment.rawValue)\u{0}\(subject)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        hash ^= hash >> 32
        hash ^= hash >> 16
        hash ^= hash >> 8
        number = Int16(hash & 0xff)
    }

    package static func < (a: Lane, b: Lane) -> Bool { a.number < b.number }
}
