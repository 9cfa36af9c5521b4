import Glibc

/// A named thread of its own, for loops that block in C libraries and must stay off Swift's cooperative pool.
package final class ServiceThread: Sendable {
    private let finished = Monitor(false)

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts at once; Linux shows the first 15 bytes of the name. For threads that a process cannot do without: it ends
    /// if the system gives none.
    package convenience init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        // swift-format-ignore: NeverForceUnwrap
        self.init(orNil: name, body)!
    }

    /// The same; nil if the system gives no more threads.
    package init?(orNil name: String, _ body: @escaping @Sendable () -> Void) {
        let finished = finished
        let start = Start(name: name) {
            body()
            finished.change { $0 = true }
        }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 4 << 20)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(start).toOpaque()
        let status = pthread_create(&thread, &attributes, ServiceThread.main, context)
        pthread_attr_destroy(&attributes)
        guard status == 0 else {
            Unmanaged<Start>.fromOpaque(context).release()
            return nil
        }
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        setName(start.name)
        start.body()
        return nil
    }

    private static func setName(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        let bytes = Array(name.utf8.prefix(15))
        _ = write(file, bytes, bytes.count)
        close(file)
    }

    /// Whether the thread ended within this time.
    @discardableResult
    package func join(timeout: Duration? = nil) -> Bool {
        finished.wait(timeout: timeout) { $0 ? true : nil } ?? false
    }
}
