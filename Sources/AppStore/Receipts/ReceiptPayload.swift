import Base

/// What an app receipt says (https://developer.apple.com/library/archive/releasenotes/General/ValidateAppStoreReceipt):
/// a set of attributes with numbers. Only what is needed to ask Apple is read.
package struct ReceiptPayload: Sendable, Equatable {
    /// "Production", "ProductionSandbox", "Xcode", …
    package let type: String?
    package let bundleID: String
    /// ms since 1970.
    package let created: Int64
    /// In the order of the receipt.
    package let purchases: [Purchase]

    package struct Purchase: Sendable, Equatable {
        package let transactionID: String
        /// The transaction's own id where the receipt has no other.
        package let originalTransactionID: String
        /// ms since 1970; 0 where it cannot be read.
        package let purchased: Int64
    }

    /// Attributes that are read at most; a receipt has a few of its own and one for each purchase.
    private static let limit = 50_000

    /// Nil for what is no receipt.
    package init?(_ bytes: [UInt8]) {
        guard let attributes = ReceiptPayload.attributes(bytes[...]) else { return nil }
        var (type, bundleID, created): (String?, String?, Int64?) = (nil, nil, nil)
        var purchases: [Purchase] = []
        for (number, value) in attributes {
            switch number {
            case 0: type = ReceiptPayload.text(value)
            case 2: bundleID = ReceiptPayload.text(value)
            case 12: created = ReceiptPayload.text(value).flatMap(Timestamp.parse)
            case 17: if let purchase = Purchase(value) { purchases.append(purchase) }
            default: break
            }
        }
        guard let bundleID, let created else { return nil }
        (self.type, self.bundleID, self.created, self.purchases) = (type, bundleID, created, purchases)
    }

    fileprivate static func attributes(_ bytes: ArraySlice<UInt8>) -> [(number: Int, value: ArraySlice<UInt8>)]? {
        var outer = DERReader(bytes)
        guard let set = outer.next(DERReader.set) else { return nil }
        var reader = DERReader(set)
        var attributes: [(number: Int, value: ArraySlice<UInt8>)] = []
        while !reader.isAtEnd, attributes.count < limit {
            guard let item = reader.next(DERReader.sequence) else { return nil }
            var parts = DERReader(item)
            // A type, a version, a value.
            guard let number = parts.next(DERReader.integer).flatMap(DERReader.Value.number),
                parts.next(DERReader.integer) != nil, let value = parts.next(DERReader.octets)
            else { return nil }
            attributes.append((number, value))
        }
        return attributes
    }

    fileprivate static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        var reader = DERReader(bytes)
        guard let value = reader.next(), value.tag == DERReader.utf8 || value.tag == DERReader.ascii else { return nil }
        return String(validating: value.content, as: UTF8.self)
    }
}

extension ReceiptPayload.Purchase {
    /// Nil without a transaction id.
    fileprivate init?(_ bytes: ArraySlice<UInt8>) {
        let attributes = ReceiptPayload.attributes(bytes) ?? []
        func text(_ number: Int) -> String? {
            attributes.first { $0.number == number }.flatMap { ReceiptPayload.text($0.value) }
        }
        guard let id = text(1703), !id.isEmpty else { return nil }
        transactionID = id
        originalTransactionID = text(1705).flatMap { $0.isEmpty ? nil : $0 } ?? id
        purchased = text(1704).flatMap(Timestamp.parse) ?? 0
    }
}

extension ReceiptPayload {
    /// The newest transaction of each original one, the newest first.
    package var newest: [Purchase] {
        var newest: [String: Purchase] = [:]
        for purchase in purchases
        where purchase.purchased >= newest[purchase.originalTransactionID]?.purchased ?? .min {
            newest[purchase.originalTransactionID] = purchase
        }
        return newest.values.sorted {
            ($1.purchased, $0.originalTransactionID) < ($0.purchased, $1.originalTransactionID)
        }
    }
}
