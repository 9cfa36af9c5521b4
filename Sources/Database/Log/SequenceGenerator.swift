import Base
import Synchronization

/// Makes the `seq` of notifications: grows with time, differs between processes, needs no database.
///
/// 42 bits of milliseconds since 2024, 14 bits that this process drew, 8 bits of a counter. Never goes backwards, also
/// when the clock does. Two processes that drew alike would collide only in the same lane and instant: the primary key
/// notices, and the batch is numbered again by a generator with another node.
package final class SequenceGenerator: Sendable {
    private static let epoch: Int64 = 1_704_067_200_000
    private let clock: any WallClock
    private let node: Int64
    private let last: Mutex<Int64>

    package init(clock: any WallClock, node: UInt16) {
        self.clock = clock
        self.node = Int64(node & 0x3fff)
        last = Mutex(0)
    }

    /// The least number of an instant: where a number need not differ from others.
    ///
    /// - Parameter instant: ms since 1970.
    package static func least(at instant: Int64) -> Int64 {
        instant < epoch ? 0 : min(instant - epoch, (1 << 41) - 1) << 22
    }

    package func next() -> Int64 {
        let now = max(0, clock.now() - SequenceGenerator.epoch)
        return last.withLock { last in
            let (instant, counter) = (last >> 22, last & 0xff)
            if now > instant {
                last = now << 22 | node << 8
            } else if counter < 0xff {
                last += 1
            } else {
                last = (instant + 1) << 22 | node << 8
            }
            return last
        }
    }

    /// When the number was made, in ms since 1970: the arrival of what has it.
    package static func instant(of seq: Int64) -> Int64 { (seq >> 22) + epoch }
}
