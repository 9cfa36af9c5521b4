import FoundationEssentials

/// The words that Glossary.md replaces, and pronouns and phrases that name no actor.
struct Glossary {
    private typealias Phrase = (phrase: String, words: [[UInt8]])

    /// Phrases that no text has, and those that names of events do not have either.
    private let forbidden, allForbidden: [Phrase]

    /// Replaced words that have an ordinary meaning beside the one they lost, as in "command line" or "root certificate":
    /// texts may have them, names of events may not.
    private static let ambiguous: Set = [
        "entry", "place", "subject", "standing", "book", "line", "watch", "look", "round", "waiting", "ending",
        "silence",
        "wake", "person", "root", "user", "name",
    ]

    private static let vague = [
        "somebody", "nobody", "anybody", "whoever", "is none", "for ever", "of late", "news", "told", "lookout",
        "errand",
    ]

    init(_ package: URL) throws {
        let page = package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Glossary.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
        let replaced = rows.filter { !$0.hasPrefix("| use |") }.flatMap { row -> [String] in
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5 else { return [] }
            return cells[3].split(separator: ",").map { $0.trimmed() }.filter { !$0.isEmpty }
        }
        let all = (Glossary.vague + replaced).map { (phrase: $0, words: Glossary.words(of: $0)) }
        allForbidden = all
        forbidden = all.filter { !Glossary.ambiguous.contains($0.phrase) }
    }

    /// The words of a text that it should not have.
    ///
    /// - Parameter isEvent: whether it is the name of an event, which has no word in another meaning.
    func faults(in text: String, isEvent: Bool = false) -> [String] {
        let words = Glossary.words(of: text)
        return (isEvent ? allForbidden : forbidden).filter { Glossary.contains($0.words, in: words) }.map(\.phrase)
    }

    /// The words of a text in small letters; `_` belongs to a word, so that columns of the database are none of ours.
    private static func words(of text: String) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        for byte in text.utf8 {
            switch byte {
            case 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "'"): words[words.count - 1].append(byte)
            case 0x41...0x5A: words[words.count - 1].append(byte | 0x20)
            default: if !words[words.count - 1].isEmpty { words.append([]) }
            }
        }
        return words
    }

    private static func contains(_ phrase: [[UInt8]], in words: [[UInt8]]) -> Bool {
        words.indices.contains { start in words[start] == phrase[0] && words[start...].starts(with: phrase) }
    }
}

extension Substring {
    fileprivate func trimmed() -> String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
