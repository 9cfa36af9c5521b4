import Base
import Crypto
import Postgres
import Synchronization

/// The deleted customers, by salted hashes: enough to recognise an id, and not enough to find it.
package final class DeletedCustomerHashes: Sendable {
    private let salt = Mutex<[UInt8]?>(nil)

    package init() {}

    /// A deletion of a name.
    package struct Deletion: Sendable, Equatable {
        package let id: Int64
        /// ms since 1970.
        package let at: Int64
        /// Its number in the log.
        package let action: Int64
    }

    private static let selectSalt = "SELECT salt FROM entitled.deletion_salt"

    /// The hash of a name, whatever its case.
    package func hash(_ name: String, on connection: PostgresConnection) throws -> [UInt8] {
        Digest.hmacSHA256(key: try key(on: connection), Array(name.lowercased().utf8))
    }

    private func key(on connection: PostgresConnection) throws -> [UInt8] {
        if let known = salt.withLock({ $0 }) { return known }
        let read = try connection.query(DeletedCustomerHashes.selectSalt).one().bytes("salt")
        salt.withLock { $0 = read }
        return read
    }

    private static let select = """
        SELECT hash, deletion, at_ms, action FROM entitled.deletion_id WHERE hash = ANY($1::bytea[])
        ORDER BY hash, deletion
        """

    /// Those of these names that were deleted, with the newest deletion of each.
    package func among(
        _ names: Set<String>, on connection: PostgresConnection
    ) throws -> [String: Deletion] {
        try all(of: names, on: connection).compactMapValues(\.last)
    }

    /// All deletions of these names, the oldest first.
    package func all(
        of names: Set<String>, on connection: PostgresConnection
    ) throws -> [String: [Deletion]] {
        guard !names.isEmpty else { return [:] }
        var hashes: [[UInt8]: [String]] = [:]
        for name in names { hashes[try hash(name, on: connection), default: []].append(name) }
        var found: [String: [Deletion]] = [:]
        for row in try connection.query(DeletedCustomerHashes.select, [.byteas(hashes.keys.map { $0 })]) {
            let deletion = Deletion(
                id: try row.int("deletion"), at: try row.int("at_ms"), action: try row.int("action"))
            for name in hashes[try row.bytes("hash")] ?? [] { found[name, default: []].append(deletion) }
        }
        return found
    }
}
