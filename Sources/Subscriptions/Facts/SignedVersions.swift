/// Facts that Apple signed, each content once, with its signatures.
///
/// Apple signs the same content anew whenever it is asked, so that a purchase has far more signatures than things were said of
/// it. Of those between the first and the last of a content only the instants are known, and of them those count that were the
/// first after something else was said for the last time: then what holds began to hold. The same in any order of the facts.
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
            let place = again.partitioningIndex { $0 >= date }
            guard place == again.count || again[place] != date else { return false }
            again.insert(date, at: place)
            return true
        }

        func isSigned(within dates: ClosedRange<Int64>) -> Bool {
            if dates.contains(first.signedDate) || dates.contains(newest.signedDate) { return true }
            let place = again.partitioningIndex { $0 >= dates.lowerBound }
            return place < again.count && again[place] <= dates.upperBound
        }

        /// Which of the instants are kept, and which of these are the first after an end.
        ///
        /// - Parameter ends: when contents of the line were signed for the last time; this one's own is behind all its instants.
        func stretches(between ends: [Int64]) -> (kept: [Int64], starts: [Int64]) {
            var (kept, starts): ([Int64], [Int64]) = ([], [])
            // The first end that is not before an instant.
            var end = ends.partitioningIndex { $0 >= again.first ?? .max }
            var (stretch, count) = (-1, 0)
            for date in again {
                while end < ends.count, ends[end] < date { end += 1 }
                if end != stretch { (stretch, count) = (end, 0) }
                let isShared = end < ends.count && ends[end] == date
                guard count < SignedVersions.mostSignatures || isShared else { continue }
                kept.append(date)
                if isShared || count == 0 && end > 0 && ends[end - 1] >= first.signedDate { starts.append(date) }
                count += isShared ? 0 : 1
            }
            return (kept, starts)
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
        let hash = SignedVersions.hash(fact)
        if let place = place(of: fact, hash) { return extend(place, to: fact) }
        append(Span(first: fact, last: nil, next: -1), hash)
        return .content
    }

    /// A content with all that is known of its signatures.
    ///
    /// - Parameters:
    ///   - last: nil: it was signed once.
    ///   - again: when it was signed between them, in ms.
    mutating func insert(_ first: Fact, last: Fact?, again: [Int64]) {
        let hash = SignedVersions.hash(first)
        let isInOrder = zip(again, again.dropFirst()).allSatisfy { $0 < $1 }
        let limit = last?.signedDate ?? .min
        guard isInOrder, again.first ?? .max > first.signedDate, again.last ?? .min < limit || again.isEmpty,
            last == nil || first.signedDate < limit, place(of: first, hash) == nil
        else {
            insert(first)
            if let last { insert(last) }
            for date in again { insert(first.signed(at: date)) }
            return
        }
        append(Span(first: first, last: last, again: again, next: -1), hash)
    }

    private mutating func append(_ span: Span, _ hash: Int) {
        var span = span
        span.next = places.updateValue(spans.count, forKey: hash) ?? -1
        spans.append(span)
    }

    private static func hash(_ fact: Fact) -> Int {
        var hasher = Hasher()
        fact.hashContent(into: &hasher)
        return hasher.finalize()
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
        for span in other.spans { insert(span.first, last: span.last, again: span.again) }
    }

    func signed(until instant: Int64) -> SignedVersions {
        var versions = SignedVersions()
        for span in spans {
            for fact in [span.first, span.last].compactMap({ $0 }) where fact.signedDate <= instant {
                versions.insert(fact)
            }
            for date in span.again where date <= instant { versions.insert(span.first.signed(at: date)) }
        }
        return versions
    }

    private func place(of fact: Fact) -> Int? { place(of: fact, SignedVersions.hash(fact)) }

    private func place(of fact: Fact, _ hash: Int) -> Int? {
        var place = places[hash] ?? -1
        while place >= 0, !spans[place].first.hasContent(of: fact) { place = spans[place].next }
        return place >= 0 ? place : nil
    }

    /// So many instants are kept of a stretch in which nothing else was said, beside its first and its last one. What arrives so late
    /// that it was said between two others of a longer stretch finds the next instant that is kept.
    package static var mostSignatures: Int { 63 }

    /// What a fact adds to what is said of its subject.
    ///
    /// - Parameter isMeant: whether a fact is about the same subject.
    func addition(of fact: Fact, among isMeant: (Fact) -> Bool) -> PurchaseFacts.Addition {
        guard let place = place(of: fact) else { return .news }
        let (span, date) = (spans[place], fact.signedDate)
        guard date != span.first.signedDate, date != span.newest.signedDate, !span.again.contains(date) else {
            return .nothing
        }
        let others = spans.indices.filter {
            $0 != place && isMeant(spans[$0].first) && !spans[$0].first.isTold(by: fact)
        }
        // A row stands for signatures between which nothing else was said; otherwise a later one would move the beginning.
        let row = [span.newest.id, span.first.id].first { row in
            let between = Swift.min(row.base, date)...Swift.max(row.base, date)
            return row != .none && !others.contains { spans[$0].isSigned(within: between) }
        }
        guard let row else { return .news }
        let start = others.lazy.map { spans[$0].newest.signedDate }.filter { $0 < date }.max() ?? .min
        let isBeyond = span.again.lazy.filter { $0 > start && $0 < date }.count >= Self.mostSignatures
        return isBeyond && date < span.newest.signedDate ? .nothing : .signature(of: row)
    }

    /// The facts that were signed in the same millisecond as this one, and say something else.
    func rivals(of fact: Fact, among isMeant: (Fact) -> Bool) -> [Fact] {
        spans.compactMap { span in
            guard span.isSigned(within: fact.signedDate...fact.signedDate), isMeant(span.first),
                !span.first.hasContent(of: fact)
            else { return nil }
            if let last = span.last, last.signedDate == fact.signedDate { return last }
            return span.first
        }
    }

    /// Whether the content is known, and is what was said last.
    func says(_ fact: Fact, among isMeant: (Fact) -> Bool) -> Bool {
        guard place(of: fact) != nil, let last = newest(where: isMeant) else { return false }
        return last.hasContent(of: fact) || last.isTold(by: fact)
    }

    /// The newest of the facts that meet a condition.
    package func newest(where isMeant: (Fact) -> Bool) -> Fact? {
        spans.lazy.map(\.newest).filter(isMeant).max { $0.isSigned(before: $1) }
    }

    /// The contents by their first signatures, in no order.
    var firsts: some Collection<Fact> { spans.lazy.map(\.first) }

    /// The contents by their last signatures, in no order.
    var lasts: some BidirectionalCollection<Fact> { spans.lazy.map(\.newest) }

    /// A content with its signatures.
    package struct Content: Sendable {
        package let first: Fact
        /// Nil: it was signed once.
        package let last: Fact?
        /// When it was signed between them, in ms, as far as it counts now or may count when more is known.
        package let again: [Int64]
        /// Those of them that count now.
        fileprivate let starts: [Int64]
    }

    /// The contents, in no order.
    package var contents: [Content] {
        let ends = spans.contains { !$0.again.isEmpty } ? lastSignatures() : [:]
        return spans.map { span in
            guard !span.again.isEmpty else { return Content(first: span.first, last: span.last, again: [], starts: []) }
            let (again, starts) = span.stretches(between: ends[Fact.line(span.first)] ?? [])
            return Content(first: span.first, last: span.last, again: again, starts: starts)
        }
    }

    /// When the contents of each line were signed for the last time, in ms; in order.
    private func lastSignatures() -> [Fact.Line: [Int64]] {
        var dates: [Fact.Line: [Int64]] = [:]
        for span in spans { dates[Fact.line(span.first), default: []].append(span.newest.signedDate) }
        return dates.mapValues { $0.sorted() }
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
            for date in content.starts { all.append(content.first.signed(at: date)) }
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

/// What a fact says, whenever it was signed.
package protocol SignedContent: Hashable, Sendable {
    /// The names of members that this version does not know.
    var others: String? { get set }
}

/// One that Apple signs anew whenever it is asked.
package protocol VersionedFact: SignedFact, Hashable, Sendable {
    associatedtype Content: SignedContent
    var content: Shared<Content> { get set }
    var signedDate: Int64 { get set }
    var tie: [UInt8] { get set }
    /// Which row of the log it is.
    var id: FactID { get set }

    /// What it is about: only what is about the same can take back what it says.
    associatedtype Line: Hashable, Sendable
    static func line(_ fact: Self) -> Line

    /// Members that tell contents apart nearly always.
    func hashContent(into hasher: inout Hasher)
}

extension VersionedFact {
    /// Whether both say the same, whenever they were signed.
    package func hasContent(of other: Self) -> Bool { content == other.content }

    /// Whether both say the same, as far as this version knows, with other members beside it.
    func isTold(by other: Self) -> Bool {
        guard content.value.others != other.content.value.others else { return false }
        var own = content.value
        own.others = other.content.value.others
        return own == other.content.value
    }

    /// The same, signed at another time by bytes that were not kept.
    func signed(at date: Int64) -> Self {
        var fact = self
        (fact.signedDate, fact.tie) = (date, [])
        return fact
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

/// What tells a fact from every other one of its purchase.
package struct FactID: Hashable, Sendable {
    /// The beginning of its digest.
    package let prefix: UInt64
    /// When its row was signed, in ms, whatever other signatures the row stands for.
    package let base: Int64

    /// Of what is in no row.
    package static let none = FactID(prefix: 0, base: 0)

    package init(prefix: UInt64, base: Int64) {
        (self.prefix, self.base) = (prefix, base)
    }

    package init(digest: some Collection<UInt8>, base: Int64) {
        self.init(prefix: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, base: base)
    }
}

extension Array {
    /// The first place whose element meets a condition that all elements behind it meet as well.
    fileprivate func partitioningIndex(where meets: (Element) -> Bool) -> Int {
        var (place, end) = (0, count)
        while place < end {
            let middle = (place + end) / 2
            if meets(self[middle]) { end = middle } else { place = middle + 1 }
        }
        return place
    }
}
