/// What was probably meant by a word that is not known.
package enum Suggestion {
    /// The nearest candidate, if it is near enough to be worth saying.
    package static func closest(to word: String, in candidates: some Sequence<String>) -> String? {
        let allowed = max(1, word.count / 3)
        let near = candidates.map { ($0, distance(word, $0)) }.filter { $0.1 <= allowed }.min { $0.1 < $1.1 }
        return near?.0 ?? begun(by: word, in: candidates)
    }

    /// The candidate that begins with nearly that word, such as `bundle_id` with `bundel`; nil if several do.
    private static func begun(by word: String, in candidates: some Sequence<String>) -> String? {
        guard word.count >= shortestBeginning else { return nil }
        let begun = candidates.filter { distance(word, String($0.prefix(word.count))) <= 1 }
        return begun.count == 1 ? begun.first : nil
    }

    private static let shortestBeginning = 4

    /// Insertions, deletions, replacements and swaps of neighbours that make one of the other, each once.
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.lowercased().prefix(100))
        let b = Array(b.lowercased().prefix(100))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
