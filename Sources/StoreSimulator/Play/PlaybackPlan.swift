/// The letters of a play, group by group of subscribers, so that any number of them fits into memory.
package struct PlaybackPlan: Sendable {
    package var scenario = Scenario.mixed
    package var app = StoreApp()
    package var seed: UInt64 = 1
    package var subscribers: UInt64 = 1
    /// When the last notification was signed at the latest, in milliseconds.
    package var end: Int64
    /// Percent of the notifications that come twice.
    package var duplicates = 0
    /// In no order within a group, instead of by date.
    package var isShuffled = false

    /// Lives that are interleaved.
    private static let groupSize: UInt64 = 200

    package init(end: Int64) {
        self.end = end
    }

    /// Calls `take` for one letter after another until it gives false.
    func forEach(_ take: (PlannedNotification) throws -> Bool) rethrows {
        var random = SeededRandom(seed: seed ^ 0x706C_616E)
        var first: UInt64 = 0
        while first < subscribers {
            let last = min(subscribers, first &+ PlaybackPlan.groupSize)
            for letter in group(first..<last, &random) {
                guard try take(letter) else { return }
            }
            first = last
        }
    }

    private func group(_ numbers: Range<UInt64>, _ random: inout SeededRandom) -> [PlannedNotification] {
        var letters = numbers.flatMap { number in
            scenario.notifications(app: app, seed: seed, number: number, until: end).map {
                PlannedNotification($0, of: number)
            }
        }.enumerated().sorted {
            ($0.element.notification.signedDate, $0.offset) < ($1.element.notification.signedDate, $1.offset)
        }.map(\.element)
        var again: [PlannedNotification] = []
        for letter in letters where duplicates > 0 && random.chance(duplicates) {
            again.append(letter)
        }
        if isShuffled {
            letters = (letters + again).shuffled(using: &random)
        } else if !again.isEmpty {
            letters = insert(again, after: letters, &random)
        }
        return letters
    }

    /// Each repetition comes somewhere after the first.
    private func insert(
        _ again: [PlannedNotification], after letters: [PlannedNotification], _ random: inout SeededRandom
    ) -> [PlannedNotification] {
        let places = Dictionary(uniqueKeysWithValues: letters.enumerated().map { (ObjectIdentifier($1), $0) })
        var following = [[PlannedNotification]](repeating: [], count: letters.count)
        for letter in again {
            let place = places[ObjectIdentifier(letter)] ?? 0
            following[Int.random(in: place..<letters.count, using: &random)].append(letter)
        }
        return zip(letters, following).flatMap { [$0] + $1 }
    }
}
