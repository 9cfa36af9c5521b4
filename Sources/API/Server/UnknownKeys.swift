/// Keys that the database was asked for and does not have, so that trying one again asks nothing. The newest some thousand.
///
/// A key that is made later is found before this is looked at: the refresher reads all keys every two seconds.
package struct UnknownKeys {
    /// Of one generation; two are kept.
    package static let limit = 4096

    /// SHA-256 of each.
    private var newer: Set<[UInt8]> = []
    private var older: Set<[UInt8]> = []

    package init() {}

    package func contains(_ digest: [UInt8]) -> Bool { newer.contains(digest) || older.contains(digest) }

    package mutating func insert(_ digest: [UInt8]) {
        if newer.count >= UnknownKeys.limit { (older, newer) = (newer, []) }
        newer.insert(digest)
    }
}
