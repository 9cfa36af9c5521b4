import Base

/// Snapshots as bytes. What another program, another form or other settings of the fold made is refused: then it is made
/// again from the facts.
package struct SnapshotCodec: Sendable {
    /// To be counted up with every change of the members, and of how facts are folded to them.
    private static let form = 2

    private let stamp: [UInt8]

    /// - Parameter foldSettings: those of the folds that are kept.
    package init(foldSettings: FoldSettings) {
        self.init(form: SnapshotCodec.form, version: Version.current, foldSettings: foldSettings)
    }

    init(form: Int, version: String, foldSettings: FoldSettings) {
        stamp = Array("\(form) \(version) \(foldSettings.stamp)".utf8)
    }

    /// The key is left out: it is stored beside the bytes.
    package func bytes(_ snapshot: PurchaseSnapshot) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(stamp)
        writer.write(Int64(snapshot.holdings.count))
        for holding in snapshot.holdings { SnapshotCodec.write(holding, &writer) }
        writer.write(Int64(snapshot.items.count))
        for item in snapshot.items { SnapshotCodec.write(item, &writer) }
        writer.write(snapshot.continuation?.since)
        if let continuation = snapshot.continuation { writer.write(continuation.of) }
        return writer.bytes
    }

    /// Nil for bytes that this codec did not write.
    package func snapshot(_ bytes: [UInt8], of key: PurchaseKey) -> PurchaseSnapshot? {
        var reader = ByteReader(bytes)
        guard reader.bytes() == stamp,
            let holdings = reader.list({ SnapshotCodec.holding(&$0, key) }),
            let items = reader.list({ SnapshotCodec.item(&$0) }), let continuation = continuation(&reader),
            reader.isAtEnd
        else { return nil }
        return PurchaseSnapshot(key: key, holdings: holdings, items: items, continuation: continuation)
    }

    /// The outer nil: nothing can be read.
    private func continuation(_ reader: inout ByteReader) -> Purchase.Continuation?? {
        guard let since = reader.optionalInteger() else { return nil }
        guard let since else { return .some(nil) }
        return reader.text().map { .some(Purchase.Continuation(of: $0, since: since)) }
    }

    // MARK: - Members

    private static func write(_ holding: Holding, _ writer: inout ByteWriter) {
        writer.write(holding.productID)
        writer.write(holding.transactionID)
        writer.write(holding.purchaseDate)
        writer.write(holding.originalPurchaseDate)
        for date in [
            holding.expires, holding.grace, holding.refunded, holding.unpaidSince, holding.switchedOffSince,
        ] { writer.write(date) }
        writer.write(holding.isSubscription)
        writer.write(holding.isRenewable)
        writer.write(holding.isFamilyShare)
        writer.write(holding.periodType.rawValue)
        write(holding.price, &writer)
        writer.write(holding.store)
        writer.write(holding.grantedEntitlement ?? "")
    }

    private static func holding(_ reader: inout ByteReader, _ key: PurchaseKey) -> Holding? {
        guard let product = reader.text(), let transaction = reader.text(), let purchased = reader.integer(),
            let first = reader.integer(), let expires = reader.optionalInteger(), let grace = reader.optionalInteger(),
            let refunded = reader.optionalInteger(), let unpaid = reader.optionalInteger(),
            let off = reader.optionalInteger(), let isSubscription = reader.bool(), let isRenewable = reader.bool(),
            let isShare = reader.bool(), let type = reader.text().flatMap(PeriodType.init(rawValue:)),
            let price = price(&reader),
            let store = reader.text(), let granted = reader.text()
        else { return nil }
        return Holding(
            key: key, productID: product, transactionID: transaction, purchaseDate: purchased,
            originalPurchaseDate: first, expires: expires, grace: grace, refunded: refunded, unpaidSince: unpaid,
            switchedOffSince: off, isSubscription: isSubscription, isRenewable: isRenewable,
            isFamilyShare: isShare, periodType: type, price: price, store: store,
            grantedEntitlement: granted.isEmpty ? nil : granted)
    }

    private static func write(_ item: PurchaseSnapshot.Item, _ writer: inout ByteWriter) {
        writer.write(item.productID)
        writer.write(item.transactionID)
        writer.write(item.purchaseDate)
        writer.write(item.originalPurchaseDate)
        write(item.price, &writer)
        writer.write(item.store)
    }

    private static func item(_ reader: inout ByteReader) -> PurchaseSnapshot.Item? {
        guard let product = reader.text(), let transaction = reader.text(), let purchased = reader.integer(),
            let first = reader.integer(), let price = price(&reader), let store = reader.text()
        else { return nil }
        return PurchaseSnapshot.Item(
            productID: product, transactionID: transaction, purchaseDate: purchased, originalPurchaseDate: first,
            price: price, store: store)
    }

    private static func write(_ price: Holding.Price?, _ writer: inout ByteWriter) {
        writer.write(price?.amount)
        if let price { writer.write(price.currency) }
    }

    /// The outer nil: nothing can be read.
    private static func price(_ reader: inout ByteReader) -> Holding.Price?? {
        guard let amount = reader.optionalInteger() else { return nil }
        guard let amount else { return .some(nil) }
        return reader.text().map { .some(Holding.Price(amount: amount, currency: $0)) }
    }
}
