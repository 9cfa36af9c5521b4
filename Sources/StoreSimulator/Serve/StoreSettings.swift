import Base

/// What a simulated store is like.
package struct StoreSettings: Sendable {
    package var app = StoreApp()
    /// Where notifications go; nil: nowhere, and every attempt fails.
    package var receiver: ReceiverURL?
    /// Waits before further attempts of what was not delivered; nil: Apple's, which has none in the sandbox
    /// (https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications).
    package var retrySchedule: [Duration]?
    /// So many times faster than said the waits pass.
    package var speed = 1.0
    /// How many notifications never arrive, of a hundred.
    package var lost = 0
    /// So many requests of one kind are answered in a second; nil: any number.
    package var requestsPerSecond: Int?
    /// Notifications on their way at the same time.
    package var connections = 4
    /// Of one attempt.
    package var timeout = Duration.seconds(30)
    package var faults: [StoreFault] = []
    package var seed: UInt64 = 1

    package init() {}

    static let applesSchedule = [1, 12, 24, 48, 72].map { Duration.seconds($0 * 3600) }

    /// The wait after attempt `number`, counted from 1; nil: it was the last one.
    func wait(afterAttempt number: Int) -> Duration? {
        let schedule = retrySchedule ?? (app.isSandbox ? [] : StoreSettings.applesSchedule)
        return schedule.indices.contains(number - 1) ? schedule[number - 1] / max(speed, 0.000_001) : nil
    }
}
