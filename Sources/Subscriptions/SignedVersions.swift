/// Facts that Apple signed, each content once, with its signatures.
///
/// Apple signs the same content anew whenever it is asked, so that a purchase has far more signatures than things were said of
/// it. Of those between the first and the last of a content only the instants are known, and they count only where something
/// else was said before them and nothing after: when what holds began to hold. The same in any order of the facts.
package struct SignedVersions<Fact: VersionedFact>: Sendable {
    private var spans: [Span] = []
    /// The place of the first span with a content of this hash; the others follow by `next`.
    private var places: [Int: Int] = [:]

    private struct Span: Sendable {
        var first: Fact
        /// Nil: it was signed once.
        var last: Fact?
        /// When it was signed between them, in ms; in order.
        var again: [Int64] = []
        /// The next span whose content has the same hash; -1: there is none.
        var next: Int

        var newest: Fact { last ?? first }

        /// Whether the instant is new.
        mutating func note(_ date: Int64) -> Bool {
            var (place, end) = (0, again.count)
            while place < end {
                let middle = (place + end) / 2
                if again[middle] < date { place = middle + 1 } else { end = middle }
            }
            guard place == again.count || again[place] != date else { return false }
            again.insert(date, at: place)
            return true
        }
    }

    package init() {}

    /// What putting in a fact changed.
    package enum Change: Sendable, Equatable {
        /// Nothing with its content was known.
        case content
        /// Its content was known, and is signed earlier or later than was known.
        case signature
        case nothing
    }

    @discardableResult
    package mutating func insert(_ fact: Fact) -> Change {
        var hasher = Hasher()
        fact.hashContent(into: &hasher)
        let hash = hasher.finalize()
        let start = places[hash] ?? -1
        var place = start
        while place >= 0 {
            if spans[place].first.hasContent(of: fact) { return extend(place, to: fact) }
            place = spans[place].next
        }
        places[hash] = spans.count
        spans.append(Span(first: fact, last: nil, next: start))
        return .content
    }

    private mutating func extend(_ place: Int, to fact: Fact) -> Change {
        let (first, last) = (spans[place].first, spans[place].last)
        let date = fact.signedDate
        if date < first.signedDate {
            if last == nil { spans[place].last = first } else { _ = spans[place].note(first.signedDate) }
            spans[place].first = fact
            return .signature
        }
        if date > (last ?? first).signedDate {
            if let last { _ = spans[place].note(last.signedDate) }
            spans[place].last = fact
            return .signature
        }
        // The same content of the same millisecond has one signature here: the greater bytes.
        if date == first.signedDate {
            if first.tie.lexicographicallyPrecedes(fact.tie) { spans[place].first.tie = fact.tie }
            return .nothing
        }
        if let last, date == last.signedDate {
            if last.tie.lexicographicallyPrecedes(fact.tie) { spans[place].last?.tie = fact.tie }
            return .nothing
        }
        return spans[place].note(date) ? .signature : .nothing
    }

    package mutating func formUnion(_ other: SignedVersions) {
        for span in other.spans {
            insert(span.first)
            if let last = span.last { insert(last) }
            for date in span.again {
                var fact = span.first
                (fact.signedDate, fact.tie) = (date, [])
                insert(fact)
            }
        }
    }

    func signed(until instant: Int64) -> SignedVersions {
        var versions = SignedVersions()
        for span in spans {
            for fact in [span.first, span.last].compactMap({ $0 }) where fact.signedDate <= instant {
                versions.insert(fact)
            }
            for date in span.again where date <= instant {
                var fact = span.first
                (fact.signedDate, fact.tie) = (date, [])
                versions.insert(fact)
            }
        }
        return versions
    }

    private func place(of fact: Fact) -> Int? {
        var hasher = Hasher()
        fact.hashContent(into: &hasher)
        var place = places[hasher.finalize()] ?? -1
        while place >= 0, !spans[place].first.hasContent(of: fact) { place = spans[place].next }
        return place >= 0 ? place : nil
    }

    /// Of a content that is signed more often without anything else in between the first instants and the last count.
    static var mostSignatures: Int { 63 }

    private func abs(_ one: Int64, _ other: Int64) -> UInt64 { (one > other ? one &- other : other &- one).magnitude }

    /// What a fact adds to what is said of its subject.
    ///
    /// - Parameter isMeant: whether a fact is about the same subject.
    func addition(of fact: Fact, among isMeant: (Fact) -> Bool) -> PurchaseFacts.Addition {
        guard let place = place(of: fact) else { return .news }
        let span = spans[place]
        let date = fact.signedDate
        let near = date < span.first.signedDate ? span.first : span.newest
        let known = [span.first.signedDate, span.newest.signedDate] + span.again
        guard !known.contains(date), let least = known.min(by: { abs($0, date) < abs($1, date) }) else {
            return .nothing
        }
        let between = Swift.min(least, date)...Swift.max(least, date)
        let isInterrupted = spans.contains { other in
            isMeant(other.first)
                && ([other.first.signedDate, other.newest.signedDate].contains(where: between.contains)
                    || other.again.contains(where: between.contains)) && !other.first.hasContent(of: fact)
        }
        if isInterrupted { return .news }
        // Signed so often that one more instant says nothing.
        let isBeyond = span.again.count >= Self.mostSignatures && date > span.again.last ?? .max
        return isBeyond && date < span.newest.signedDate ? .nothing : .signature(of: near.id)
    }

    /// The facts that were signed in the same millisecond as this one, and say something else.
    func rivals(of fact: Fact, among isMeant: (Fact) -> Bool) -> [Fact] {
        filter { $0.signedDate == fact.signedDate && isMeant($0) && !$0.hasContent(of: fact) }
    }

    /// The newest of the facts that meet a condition.
    package func newest(where isMeant: (Fact) -> Bool) -> Fact? {
        spans.lazy.map(\.newest).filter(isMeant).max { $0.isSigned(before: $1) }
    }

    /// A content with its signatures.
    package struct Content: Sendable {
        package let first: Fact
        /// Nil: it was signed once.
        package let last: Fact?
        /// When it was signed between them, in ms, since something else was said for the last time: others cannot count any more.
        package let again: [Int64]
    }

    /// The contents, in no order.
    package var contents: [Content] {
        let ends = spans.contains { !$0.again.isEmpty } ? lastOfOthers() : [:]
        return spans.map { span in
            guard !span.again.isEmpty else { return Content(first: span.first, last: span.last, again: []) }
            let end = ends[Fact.line(span.first)]?.last(beside: span.first.word) ?? .min
            return Content(
                first: span.first, last: span.last,
                again: Array(span.again.filter { $0 > end }.prefix(Self.mostSignatures)))
        }
    }

    /// When each word was last said of each subject.
    private func lastOfOthers() -> [Fact.Line: LastWords<Fact.Word>] {
        var ends: [Fact.Line: LastWords<Fact.Word>] = [:]
        for span in spans {
            ends[Fact.line(span.first), default: LastWords()].note(span.first.word, span.newest.signedDate)
        }
        return ends
    }

    /// Changes members that are no content.
    package mutating func update(_ body: (inout Fact) -> Void) {
        for place in spans.indices {
            body(&spans[place].first)
            if var last = spans[place].last {
                body(&last)
                spans[place].last = last
            }
        }
    }
}

/// The last two different words, with the instants of their signing in ms.
private struct LastWords<Word: Hashable> {
    private var last: (word: Word, at: Int64)?
    private var other: Int64?

    mutating func note(_ word: Word, _ at: Int64) {
        guard let last else {
            self.last = (word, at)
            return
        }
        if word == last.word {
            self.last = (word, Swift.max(last.at, at))
        } else if at > last.at {
            (self.last, other) = ((word, at), last.at)
        } else {
            other = Swift.max(other ?? .min, at)
        }
    }

    func last(beside word: Word) -> Int64? {
        guard let last else { return nil }
        return word == last.word ? other : last.at
    }
}

extension SignedVersions: Sequence {
    /// Every content by its first signature, by the first since something else was said, and by its last.
    package func makeIterator() -> IndexingIterator<[Fact]> { signatures.makeIterator() }

    private var signatures: [Fact] {
        var all: [Fact] = []
        all.reserveCapacity(spans.count * 2)
        guard spans.contains(where: { !$0.again.isEmpty }) else {
            for span in spans {
                all.append(span.first)
                if let last = span.last { all.append(last) }
            }
            return all
        }
        for content in contents {
            all.append(content.first)
            if let date = content.again.first {
                var fact = content.first
                (fact.signedDate, fact.tie) = (date, [])
                all.append(fact)
            }
            if let last = content.last { all.append(last) }
        }
        return all
    }

    package var underestimatedCount: Int { spans.count }

    package var first: Fact? { spans.first?.first }

    package var isEmpty: Bool { spans.isEmpty }

    package var count: Int { signatures.count }
}

extension SignedVersions: Equatable {
    package static func == (left: SignedVersions, right: SignedVersions) -> Bool {
        guard left.spans.count == right.spans.count else { return false }
        return left.contents.allSatisfy { content in
            right.place(of: content.first).map {
                let other = right.spans[$0]
                return other.first == content.first && other.last == content.last
            } ?? false
        } && Set(left.signatures) == Set(right.signatures)
    }
}

/// Something that Apple signed, or that is kept as if it were.
package protocol SignedFact {
    /// ms.
    var signedDate: Int64 { get }
    /// The signed bytes: of two facts signed in the same millisecond the one with the greater bytes is the newer.
    var tie: [UInt8] { get }
}

/// One that Apple signs anew whenever it is asked.
package protocol VersionedFact: SignedFact, Hashable, Sendable {
    var signedDate: Int64 { get set }
    var tie: [UInt8] { get set }
    /// Which row of the log it is.
    var id: FactID { get set }

    /// What it is about: only what is about the same can take back what it says.
    associatedtype Line: Hashable, Sendable
    static func line(_ fact: Self) -> Line
    /// The part of the content that others take back.
    associatedtype Word: Hashable
    var word: Word { get }

    /// Members that tell contents apart nearly always.
    func hashContent(into hasher: inout Hasher)
}

extension VersionedFact {
    /// Whether both say the same, whenever they were signed.
    package func hasContent(of other: Self) -> Bool {
        var own = self
        (own.signedDate, own.tie, own.id) = (other.signedDate, other.tie, other.id)
        return own == other
    }
}

extension SignedFact {
    package func isSigned(before other: Self) -> Bool {
        signedDate == other.signedDate ? tie.lexicographicallyPrecedes(other.tie) : signedDate < other.signedDate
    }
}

extension Sequence where Element: SignedFact {
    /// Oldest first; of equal instants the greater bytes are the newer.
    func inOrderOfSigning() -> [Element] { sorted { $0.isSigned(before: $1) } }
}

/// What tells a fact from every other one of its purchase: the beginning of its digest.
package struct FactID: Hashable, Sendable {
    package let prefix: UInt64

    /// Of what is in no row.
    package static let none = FactID(prefix: 0)

    package init(prefix: UInt64) {
        self.prefix = prefix
    }

    package init(digest: some Collection<UInt8>) {
        prefix = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
