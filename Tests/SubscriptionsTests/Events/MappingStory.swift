import Subscriptions
import Testing

/// How a row of the event table comes about.
struct MappingStory: CustomTestStringConvertible, Sendable {
    let number: Int
    let condition: String
    /// Tells the stories of one row apart.
    let variant: String?
    let isFamily: Bool
    /// Whether timers run between the notifications.
    let hasTimers: Bool
    /// What is heard before.
    let past: @Sendable (inout Life) -> Void
    /// What is heard now; what it adds before that to the life is never heard.
    let now: @Sendable (inout Life) -> Telling
    /// What the purchase must have come to.
    let leaves: @Sendable (Purchase) -> Bool

    init(
        _ number: Int, _ condition: String, _ variant: String? = nil, isFamily: Bool = false, hasTimers: Bool = false,
        after past: @escaping @Sendable (inout Life) -> Void = { _ in },
        hears now: @escaping @Sendable (inout Life) -> Telling,
        leaves: @escaping @Sendable (Purchase) -> Bool = { _ in true }
    ) {
        (self.number, self.condition, self.variant, self.isFamily) = (number, condition, variant, isFamily)
        (self.hasTimers, self.past, self.now, self.leaves) = (hasTimers, past, now, leaves)
    }

    /// The name of its row.
    var name: String { "\(number) \(condition)" }
    var testDescription: String { variant.map { "\(name): \($0)" } ?? name }

    var row: EventTypeTable.Row? { EventTypeTable.rows.first { $0.name == name } }

    /// What came of it.
    struct Outcome {
        let heard: Telling
        /// The latest period before.
        let stored: Period?
        let drafts: [EventDraft]
        let purchase: Purchase?
    }

    func play() -> Outcome {
        var life = Life(isFamily: isFamily)
        past(&life)
        let (before, key) = (life.tellings, life.key)
        let heard = now(&life)
        var story = Story(key)
        for telling in before where telling.notification.uuid != heard.notification.uuid {
            if hasTimers { _ = story.wait(until: telling.signed) }
            _ = story.hear(telling)
        }
        if hasTimers { _ = story.wait(until: heard.signed) }
        let stored = story.purchase?.latest
        // Another original transaction id is another purchase.
        if life.key != key { story = Story(life.key) }
        let drafts = story.hear(heard)
        return Outcome(heard: heard, stored: stored, drafts: drafts, purchase: story.purchase)
    }
}
