import FoundationEssentials
import Testing

@testable import Base

struct TimestampTests {
    /// Leap years, their neighbours, and the ends of what is written without Foundation.
    @Test func `dates are those of Foundation`() {
        var instants: [Int64] = [-86_400_000, -1, 0, 253_402_300_799_999, 253_402_300_800_000]
        for day in stride(from: Int64(0), to: 2_932_897, by: 97) {
            instants.append(day * 86_400_000 + day % 86_400 * 1000)
        }
        for day in Int64(10_900)..<12_400 { instants += [day * 86_400_000, day * 86_400_000 + 86_399_999] }
        for instant in instants {
            let date = Date(timeIntervalSince1970: Double(instant / 1000))
            #expect(Timestamp.text(instant) == date.formatted(.iso8601))
        }
    }
}
