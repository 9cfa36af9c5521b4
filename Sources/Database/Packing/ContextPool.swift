import Synchronization

/// zstd's working memory, kept for the next user; as many as threads ever worked at once.
final class ContextPool: Sendable {
    /// `@unchecked Sendable`: in the pool it belongs to no thread, outside of it to one.
    private struct Context: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let free = Mutex<[Context]>([])
    private let make: @Sendable () -> OpaquePointer?

    init(make: @escaping @Sendable () -> OpaquePointer?) {
        self.make = make
    }

    func use<Result>(_ body: (OpaquePointer) throws(ZstdError) -> Result) throws(ZstdError) -> Result {
        guard let context = free.withLock({ $0.popLast() })?.pointer ?? make() else {
            throw ZstdError(message: "out of memory")
        }
        let kept = Context(pointer: context)
        defer { free.withLock { $0.append(kept) } }
        return try body(context)
    }
}
