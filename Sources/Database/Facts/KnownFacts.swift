import Base
import Subscriptions

/// What is known of a purchase, and how it came to be known.
package struct KnownFacts: Sendable, Equatable {
    package var facts = PurchaseFacts()
    /// From signing to arrival of news that Apple sent late, in ms; they do not overlap.
    package private(set) var late: [Range<Int64>] = []
    /// The notification that came last.
    package private(set) var lastSent: NotificationOrigin?
    /// The transaction that came last by an app's post, or what an import brought since.
    package private(set) var lastPost: NotificationOrigin?
    /// How many rows of the log it stands for.
    package var rows = 0
    /// Whether nothing was left out because there was too much of it.
    package var isWhole = true
    /// Whether it was folded before; else it was read from the log.
    package var isFolded = false

    package init() {}

    /// One more fact.
    ///
    /// - Parameter kept: the row that stands for it, where that is another one; how the row came stays then.
    package mutating func note(
        _ fact: FactRow, _ origin: NotificationOrigin, in environment: StoreEnvironment, as kept: FactID? = nil
    ) {
        fact.insert(into: &facts, as: kept)
        let isBrought = origin.source == .posted || origin.source.isImported
        if kept == nil, isBrought, origin.seq > lastPost?.seq ?? .min { lastPost = origin }
        guard fact.kind == .notification else { return }
        if let late = origin.lateness(signed: fact.signedDate, in: environment) { add(late: [late]) }
        if origin.isSent, origin.seq > lastSent?.seq ?? .min { lastSent = origin }
    }

    package mutating func formUnion(_ other: KnownFacts) {
        facts.formUnion(other.facts)
        add(late: other.late)
        if let post = other.lastPost, post.seq > lastPost?.seq ?? .min { lastPost = post }
        if let news = other.lastSent, news.seq > lastSent?.seq ?? .min { lastSent = news }
        rows += other.rows
        isWhole = isWhole && other.isWhole
    }

    /// Gives facts the signed bytes of their row (`PurchaseFacts.supply`).
    package mutating func supply(_ row: FactID, _ payload: [UInt8]) {
        facts.supply(row) { SignedDate.replacing(row.base, by: $0, in: payload) ?? payload }
    }

    private mutating func add(late more: [Range<Int64>]) {
        guard !more.isEmpty else { return }
        late = (late + more).sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
            .reduce(into: []) { joined, range in
                guard let last = joined.last, range.lowerBound <= last.upperBound else { return joined.append(range) }
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            }
    }
}

extension KnownFacts {
    /// Whether both know the same, however they came to know it.
    package func isSame(as other: KnownFacts) -> Bool {
        guard let own = bytes.flatMap(KnownFacts.init(bytes:)), let other = other.bytes.flatMap(KnownFacts.init(bytes:))
        else { return false }
        return own.withoutRows == other.withoutRows
    }

    private var withoutRows: KnownFacts {
        var known = self
        known.facts.forgetRows()
        return known
    }

    /// To be counted up with every change of the members.
    private static let form: Int64 = 1

    /// Nil where one of the facts has no form.
    var bytes: [UInt8]? {
        guard let facts = facts.bytes else { return nil }
        var writer = ByteWriter()
        writer.write(KnownFacts.form)
        writer.write(Int64(late.count))
        for range in late {
            writer.write(range.lowerBound)
            writer.write(range.upperBound)
        }
        for origin in [lastSent, lastPost] {
            writer.write(origin?.seq)
            writer.write(Int64(origin?.source.rawValue ?? 0))
        }
        writer.write(facts)
        return writer.bytes
    }

    /// Nil for bytes of another form.
    init?(bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.integer() == KnownFacts.form, let late = reader.list({ KnownFacts.range(&$0) }),
            let news = KnownFacts.origin(&reader), let post = KnownFacts.origin(&reader),
            let facts = reader.bytes().flatMap(PurchaseFacts.init(bytes:)), reader.isAtEnd
        else { return nil }
        self.init()
        (self.late, lastSent, lastPost, self.facts) = (late, news, post, facts)
    }

    private static func range(_ reader: inout ByteReader) -> Range<Int64>? {
        guard let lower = reader.integer(), let upper = reader.integer(), lower <= upper else { return nil }
        return lower..<upper
    }

    /// The outer nil: nothing can be read.
    private static func origin(_ reader: inout ByteReader) -> NotificationOrigin?? {
        guard let seq = reader.optionalInteger(), let source = reader.integer() else { return nil }
        return .some(seq.map { NotificationOrigin(seq: $0, source: NotificationSource(code: source)) })
    }
}
