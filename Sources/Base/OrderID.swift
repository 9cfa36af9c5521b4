/// Apple's number of an order, as it stands in the receipt that a customer has by e-mail: M, then letters and digits
/// (https://developer.apple.com/documentation/appstoreserverapi/orderid). No transaction says of which order it is, so that
/// Apple alone knows.
package struct OrderID: Sendable, Equatable {
    /// With capital letters.
    package let text: String

    /// Characters of one; how many Apple's have is said nowhere.
    private static let lengths = 6...32

    /// Nil for what cannot be one. Small letters, and spaces around it, are a person's.
    package init?(_ given: String) {
        let trimmed = given.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        // As bytes: there are other letters whose capitals are these.
        let bytes = String(trimmed).utf8.map { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
        }
        guard OrderID.lengths.contains(bytes.count), bytes.first == UInt8(ascii: "M"),
            bytes.allSatisfy({ OrderID.isDigit($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// One that a text which may be anything looks like: with a digit, since without one it may be a name.
    package init?(likely given: String) {
        self.init(given)
        guard text.utf8.contains(where: OrderID.isDigit) || given.contains(text) else { return nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
