import Crypto
import Glibc
import Synchronization

/// The chains that genuine data came with lately.
///
/// Only the chain of data whose signature is good gets in, so that only the holder of a genuine key can push
/// entries out. Found by the header's exact bytes, which costs one comparison; a header that is spelled differently is
/// found by its certificates, and a new leaf finds at least its intermediate parsed.
final class ChainCache: Sendable {
    private struct Entry {
        let header: [UInt8]
        let chain: VerifiedChain
    }

    private let capacity: Int
    /// Newest first. Readers take the whole array out of the lock and search in their own time.
    private let entries = Mutex<[Entry]>([])

    init(capacity: Int = 64) {
        self.capacity = max(1, capacity)
    }

    var count: Int { entries.withLock { $0.count } }

    func chain(forHeader header: ArraySlice<UInt8>) -> VerifiedChain? {
        snapshot().first { ChainCache.isEqual($0.header, header) }?.chain
    }

    /// The chain of exactly these certificates, in DER.
    func chain(leaf: [UInt8], intermediate: [UInt8], root: [UInt8]) -> VerifiedChain? {
        snapshot().first {
            $0.chain.path.leaf.der == leaf && $0.chain.path.intermediate.der == intermediate
                && $0.chain.sentRoot == root
        }?.chain
    }

    /// A genuine intermediate of exactly these bytes, with its anchor.
    func path(throughIntermediate der: [UInt8]) -> CertificatePath? {
        snapshot().first { $0.chain.path.intermediate.der == der }?.chain.path
    }

    func insert(_ chain: VerifiedChain, forHeader header: ArraySlice<UInt8>) {
        let entry = Entry(header: Array(header), chain: chain)
        entries.withLock { entries in
            guard !entries.contains(where: { $0.header == entry.header }) else { return }
            entries.insert(entry, at: 0)
            if entries.count > capacity {
                entries.removeLast()
            }
        }
    }

    private func snapshot() -> [Entry] {
        entries.withLock { $0 }
    }

    private static func isEqual(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        return one.withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                guard let left = one.baseAddress, let right = other.baseAddress else { return true }
                return memcmp(left, right, one.count) == 0
            }
        }
    }
}
