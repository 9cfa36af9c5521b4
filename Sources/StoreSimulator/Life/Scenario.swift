/// What a play is made of. The same app, seed and end give the same notifications.
package enum Scenario: String, Sendable, CaseIterable {
    /// Subscribers who came at any time of the last 400 days and live by chance; now and then a notice of the store.
    case mixed
    /// Subscribers who came a year ago, with monthly periods.
    case year
    /// Every type and subtype Apple has, for each subscriber.
    case everyKind = "every-kind"
    /// A year of well-chosen turns, run fast enough to look on.
    case story

    /// Of subscriber `number`, in the order of their dates, none signed after `end` (milliseconds).
    package func notifications(
        app: StoreApp, seed: UInt64, number: UInt64, until end: Int64
    ) -> [StoreNotification] {
        switch self {
        case .mixed:
            var random = SeededRandom(seed: seed ^ 0x6D69_7865, stream: number)
            let begin = random.instant(from: end &- 400 &* StoreProduct.day, to: end)
            var made = SubscriberWalk.notifications(app: app, seed: seed, number: number, from: begin, until: end)
            if number % 50 == 0 {
                var notices = StoreNotices(app: app, seed: seed, number: number)
                made.insert(notices.test(at: begin), at: 0)
            }
            return made
        case .year:
            return SubscriberWalk.notifications(
                app: app, seed: seed, number: number, product: .proMonthly, from: end &- 365 &* StoreProduct.day,
                until: end)
        case .everyKind:
            return EveryNotificationType.notifications(
                app: app, seed: seed, firstNumber: number &* EveryNotificationType.livesUsed, until: end)
        case .story: return SubscriberStory.notifications(app: app, seed: seed, number: number, until: end)
        }
    }
}
