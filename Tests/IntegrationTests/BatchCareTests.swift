import Postgres
import Testing

@testable import Apply

@Suite struct BatchCareTests {
    private struct Damaged: Error {}

    private static func query(_ state: String) -> PostgresError {
        PostgresError(.query, "no", sqlstate: state)
    }

    @Test(arguments: [
        PostgresError(.connection, "away"), query("42703"), query("42501"), query("40P01"), query("55P03"),
        query("53100"),
        PostgresError(.configuration, "url"), query("25006"), query("XX000"),
    ])
    func `the database's own trouble holds nothing, however often it comes`(error: PostgresError) {
        var care = BatchCare()
        for _ in 0..<10 {
            #expect(care.judge(error, pending: [1], isAlone: true) == .again)
            #expect(care.judge(error, pending: Array(1...64), isAlone: false) == .again)
        }
    }

    @Test(arguments: [
        query("22021") as any Error, query("23505"), query("54000"), PostgresError(.encoding, "NUL"),
        PostgresError(.decoding, "type"), Damaged(),
    ])
    func `what lies in the data is looked for one by one, and held when it failed alone`(error: any Error) {
        var care = BatchCare()
        #expect(care.judge(error, pending: Array(1...64), isAlone: true) == .oneByOne(64))
        #expect(care.judge(error, pending: [1], isAlone: false) == .oneByOne(1))
        #expect(care.judge(error, pending: [1], isAlone: true) == .hold)
    }

    @Test func `a batch that is too slow twice is taken apart`() {
        var care = BatchCare()
        let slow = BatchCareTests.query("57014")
        #expect(care.judge(slow, pending: [1, 2], isAlone: false) == .again)
        #expect(care.judge(slow, pending: [1, 2], isAlone: false) == .oneByOne(2))
        care.succeeded(2)
        #expect(care.judge(slow, pending: [1, 2], isAlone: false) == .again)
    }

    @Test func `what is too slow alone is held only if others are not`() {
        var care = BatchCare()
        let slow = BatchCareTests.query("57014")
        // Everything is slow: nothing is held.
        for number in [1, 2, 1, 2, 1] as [Int64] {
            #expect(care.judge(slow, pending: [number], isAlone: true) == .passOver)
        }
        care.succeeded(0)
        #expect(care.judge(slow, pending: [1], isAlone: true) == .passOver)
        care.succeeded(1)
        #expect(care.judge(slow, pending: [1], isAlone: true) == .hold)
        #expect(care.judge(slow, pending: [3], isAlone: true) == .passOver)
    }

    @Test func `without a notification nothing is held`() {
        var care = BatchCare()
        #expect(care.judge(Damaged(), pending: [], isAlone: true) == .again)
    }
}
