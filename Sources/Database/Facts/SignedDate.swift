import Base

/// The member `signedDate` of a signed payload.
enum SignedDate {
    /// The payload as it would be had it been signed at another time; nil where the date does not stand in it exactly once.
    ///
    /// - Parameters:
    ///   - old: the date that it has, in ms.
    ///   - new: the date to put in its place, in ms.
    static func replacing(_ old: Int64, by new: Int64, in payload: [UInt8]) -> [UInt8]? {
        guard let range = range(of: old, in: payload) else { return nil }
        return payload[..<range.lowerBound] + Array(String(new).utf8) + payload[range.upperBound...]
    }

    private static let member = Array("\"signedDate\":".utf8)

    /// Where its digits are.
    private static func range(of date: Int64, in payload: [UInt8]) -> Range<Int>? {
        let wanted = member + Array(String(date).utf8)
        var found: Range<Int>?
        var place = payload.startIndex
        while place + wanted.count <= payload.endIndex {
            if payload[place] == wanted[0], payload[place..<place + wanted.count].elementsEqual(wanted) {
                guard found == nil else { return nil }
                found = place + member.count..<place + wanted.count
            }
            place += 1
        }
        guard let found else { return nil }
        // More digits would be another date.
        let next = found.upperBound < payload.endIndex ? payload[found.upperBound] : 0
        return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) ? nil : found
    }
}
