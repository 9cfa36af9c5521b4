/// The owner of a piece of work, for sharing threads fairly.
package struct WorkShare: Sendable {
    /// A hash of the client's address, or of a backend's key; 0: unknown.
    let owner: UInt64
    /// A hash of the Apple account that the work is about, as the request says; nil also where the owner is unknown.
    let account: UInt64?
    /// Whether the owner gets only a part of the threads and of the places to wait.
    let isBounded: Bool

    package static let free = WorkShare(owner: 0, account: nil, isBounded: false)

    init(owner: UInt64, account: UInt64? = nil, isBounded: Bool) {
        (self.owner, self.account, self.isBounded) = (owner, account, isBounded)
    }
}
