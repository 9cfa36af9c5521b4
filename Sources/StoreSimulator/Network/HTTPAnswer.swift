/// What a receiver answered.
package struct HTTPAnswer: Sendable, Equatable {
    package let status: Int
    package let body: [UInt8]

    /// What Apple takes as success.
    package var isAccepted: Bool { (200...206).contains(status) }
}
