/// A date as HTTP writes it, in any of the three forms that must be understood (RFC 9110 §5.6.7):
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` (RFC 850), `Sun Nov  6 08:49:37 1994` (asctime).
///
/// The name of the day is not compared with the date.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    /// Milliseconds since 1970, or nil for any other form.
    ///
    /// - Parameter now: milliseconds since 1970, for years of two digits.
    package static func parse(_ text: String, now: Int64) -> Int64? {
        guard text.utf8.count <= 40, text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return nil }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch parts.count {
        case 6 where parts[5] == "GMT": return fixed(parts)
        case 4 where parts[3] == "GMT": return rfc850(parts, now: now)
        default: return asctime(text)
        }
    }

    private static func fixed(_ parts: [String]) -> Int64? {
        guard parts[0].last == ",", days.contains(String(parts[0].dropLast())) else { return nil }
        return instant(day: parts[1], month: parts[2], year: parts[3], time: parts[4])
    }

    /// A year of two digits that would be more than 50 years ahead is the last one that ends so.
    private static func rfc850(_ parts: [String], now: Int64) -> Int64? {
        let date = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts[0].last == ",", longDays.contains(String(parts[0].dropLast())), date.count == 3,
            date[2].utf8.count == 2, let short = number(date[2]),
            let year = Int(Timestamp.text(min(max(now, 0), 250_000_000_000_000)).prefix(4))
        else { return nil }
        let near = year - year % 100 + short
        let full = near > year + 50 ? near - 100 : near <= year - 50 ? near + 100 : near
        return instant(day: date[0], month: date[1], year: String(full), time: parts[2])
    }

    /// Its fields stand at fixed places; a day of one digit has a space before it.
    private static func asctime(_ text: String) -> Int64? {
        let text = Array(text)
        guard text.count == 24, days.contains(String(text[0..<3])), [3, 7, 10, 19].allSatisfy({ text[$0] == " " })
        else { return nil }
        let day = String(text[8..<10]).replacing(" ", with: "0", maxReplacements: 1)
        return instant(
            day: day, month: String(text[4..<7]), year: String(text[20..<24]), time: String(text[11..<19]))
    }

    private static func instant(day: String, month: String, year: String, time: String) -> Int64? {
        guard let month = months.firstIndex(of: month), day.utf8.count == 2, number(day) != nil,
            year.utf8.count == 4, number(year) != nil, time.utf8.count == 8
        else { return nil }
        let two = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp.parse("\(year)-\(two)-\(day)T\(time)Z")
    }

    private static func number(_ digits: String) -> Int? {
        digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(digits) : nil
    }
}
