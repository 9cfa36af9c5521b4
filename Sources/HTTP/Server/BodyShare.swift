import Synchronization

/// What one request's body takes of the memory that all bodies have together; given back when it goes away.
///
/// Senders are unknown until their bodies are read, so without a common bound many of them at once could take as much
/// as connections times the largest body.
final class BodyShare {
    private let core: ServerCore
    private var bytes = 0

    init(_ core: ServerCore) {
        self.core = core
    }

    deinit {
        core.bodyBytes.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// False if all bodies together would be too large; the largest allowed one always fits when it is alone.
    func take(_ count: Int) -> Bool {
        let limit = max(core.configuration.bodyMemory, core.configuration.maxBodyBytes)
        bytes += count
        return core.bodyBytes.wrappingAdd(count, ordering: .relaxed).newValue <= limit
    }
}
