import CLinux
import Glibc

/// epoll with one descriptor of its own, by which other threads end a wait.
///
/// `@unchecked Sendable`: only `wake` is called by several threads, and it only writes to a descriptor that stays open
/// as long as the poller lives. All else belongs to the loop's thread.
final class Poller: @unchecked Sendable {
    struct Interest: OptionSet {
        let rawValue: UInt32

        static let readable = Interest(rawValue: 1)
        static let writable = Interest(rawValue: 2)
        /// Reported only, never asked for.
        static let error = Interest(rawValue: 4)
    }

    private static let capacity = 256

    private let epoll: Int32
    private let event: Int32
    private let descriptors = UnsafeMutableBufferPointer<Int32>.allocate(capacity: Poller.capacity)
    private let interests = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: Poller.capacity)
    private var watched: Set<Int32> = []

    /// Throws errno where the system gives no descriptors.
    init() throws(HTTPClientError) {
        descriptors.initialize(repeating: -1)
        interests.initialize(repeating: 0)
        epoll = clinux_epoll_create()
        event = clinux_eventfd()
        guard epoll >= 0, event >= 0, clinux_epoll_control(epoll, 1, event, 1) == 0 else {
            throw HTTPClientError(call: "epoll", number: errno)
        }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        if event >= 0 { close(event) }
        descriptors.deallocate()
        interests.deallocate()
    }

    /// Ends the wait in progress, or the next one, from any thread.
    func wake() {
        var one: UInt64 = 1
        _ = write(event, &one, MemoryLayout<UInt64>.size)
    }

    /// A socket that the system does not take (no memory) is not reported: its transfer ends by its timeout.
    func watch(_ descriptor: Int32, _ interest: Interest) {
        let (add, change): (Int32, Int32) = (1, 2)
        let known = watched.contains(descriptor)
        var status = clinux_epoll_control(epoll, known ? change : add, descriptor, interest.rawValue)
        // A closed descriptor leaves epoll by itself, and its number may have come back as another socket.
        if status != 0, errno == ENOENT || errno == EEXIST {
            status = clinux_epoll_control(epoll, known ? add : change, descriptor, interest.rawValue)
        }
        if status == 0 { watched.insert(descriptor) }
    }

    func forget(_ descriptor: Int32) {
        guard watched.remove(descriptor) != nil else { return }
        _ = clinux_epoll_control(epoll, 3, descriptor, 0)
    }

    /// Waits at most so many milliseconds, without limit if negative, and reports ready descriptors. An error, if waiting failed.
    func wait(milliseconds: Int32, ready: (Int32, Interest) -> Void) -> HTTPClientError? {
        let count = clinux_epoll_wait(
            epoll, descriptors.baseAddress, interests.baseAddress, Int32(Poller.capacity), milliseconds)
        guard count >= 0 else { return errno == EINTR ? nil : HTTPClientError(call: "epoll_wait", number: errno) }
        for index in 0..<min(Int(count), Poller.capacity) {
            if descriptors[index] == event {
                var counter: UInt64 = 0
                _ = read(event, &counter, MemoryLayout<UInt64>.size)
            } else {
                ready(descriptors[index], Interest(rawValue: interests[index]))
            }
        }
        return nil
    }
}
