import Base

/// What a preview gives, and what a change that insists on it names in `If-Plan`: when it was seen, and a digest of what was
/// asked for and of the versions of the rows that it was about.
///
/// It is no secret and needs no signature: one that was made up insists on what is not so, and the change is refused.
struct ChangePlan: Equatable {
    /// ms since 1970. Times in the request count from it.
    let made: Int64
    /// Of `ChangeVersions`.
    let digest: [UInt8]

    /// ms for which it holds.
    static let life: Int64 = 600_000

    private static let version: UInt8 = 1
    private static let length = 1 + 8 + 32

    var ends: Int64 { min(made, .max - ChangePlan.life) + ChangePlan.life }

    init(made: Int64, digest: [UInt8]) {
        (self.made, self.digest) = (made, digest)
    }

    /// Nil for what is no plan.
    init?(text: String) {
        guard let bytes = Base64.decodeURL(text.utf8), bytes.count == ChangePlan.length,
            bytes.first == ChangePlan.version
        else { return nil }
        let made = bytes.dropFirst().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(made: Int64(bitPattern: made), digest: Array(bytes.suffix(32)))
    }

    var text: String {
        Base64.encodeURL(
            [ChangePlan.version] + withUnsafeBytes(of: made.bigEndian) { Array($0) } + digest)
    }
}
