import Database
import Testing

/// Ids of a deleted customer in free texts.
@Suite struct PseudonymsTests {
    private static let uuid = "1f0c2222-aaaa-4bbb-8ccc-0123456789ab"

    @Test(arguments: [
        ("anna asked; hannah did not", "P1 asked; hP1h did not", "P1 asked; hannah did not"),
        ("ANNA, Anna", "ANNA, Anna", "ANNA, Anna"),
        ("anna.b@example.com wrote", "P2 wrote", "P2 wrote"),
        (
            "for 1F0C2222-AAAA-4BBB-8CCC-0123456789AB and 1f0c2222-aaaa-4bbb-8ccc-0123456789ab.", "for P3 and P3.",
            "for P3 and P3."
        ),
        ("x1f0c2222-AAAA-4bbb-8ccc-0123456789abx", "xP3x", "x1f0c2222-AAAA-4bbb-8ccc-0123456789abx"),
        ("\u{0d}1f0c2222\u{0d}aaaa-4bbb-8ccc-0123456789ab", "\u{0d}1f0c2222\u{0d}aaaa-4bbb-8ccc-0123456789ab", nil),
        ("né-anna-é", "né-P1-é", "né-P1-é"), ("z!", "P4!", "P4!"), ("", "", ""),
    ])
    func `each id gives way to its pseudonym, the longest first`(text: String, anywhere: String, words: String?) {
        let names = Pseudonyms(["anna": "P1", "anna.b@example.com": "P2", Self.uuid: "P3", "z": "P4"])
        #expect(names.replaced(inText: text) == anywhere)
        #expect(names.replaced(inText: text, wholeWords: true) == words ?? text)
    }

    @Test func `an id is found in the other Unicode form, too`() {
        let names = Pseudonyms(["jos\u{e9}-1": "P1", "ze\u{301}lia": "P2"])
        #expect(names.replaced(inText: "for jose\u{301}-1 and z\u{e9}lia") == "for P1 and P2")
        #expect(names.replaced(inText: "for jos\u{e9}-1 and ze\u{301}lia") == "for P1 and P2")
        #expect(names.replaced(inText: "for jose-1") == "for jose-1")
    }

    @Test func `thousands of ids are found in what a search by each of them finds`() {
        var random = SystemRandomNumberGenerator()
        let letters = Array("ab-1é")
        func word(_ length: ClosedRange<Int>) -> String {
            String((0..<Int.random(in: length, using: &random)).map { _ in letters.randomElement() ?? "a" })
        }
        for _ in 0..<50 {
            let ids = Set((0..<300).map { _ in word(1...12) })
            let names = Pseudonyms(Dictionary(uniqueKeysWithValues: ids.map { ($0, "P") }))
            for _ in 0..<20 {
                let text = word(0...60)
                let expected = ids.filter { text.utf8.contains($0.utf8) }
                let found = names.ids(in: text)
                #expect(found.isSuperset(of: expected), "\(text)")
                // Ids of less than four bytes are not looked for.
                #expect(found.subtracting(expected).allSatisfy { $0.utf8.count < 4 }, "\(text)")
            }
        }
    }

    @Test func `many ids cost a text no more than few`() {
        let text = String(repeating: "the customer asked for a refund of order 4711; ", count: 60)
        func time(_ count: Int) -> Duration {
            let names = Pseudonyms(
                Dictionary(uniqueKeysWithValues: (0..<count).map { ("customer-\(100_000 + $0)", "P") }))
            return (0..<3).map { _ in
                ContinuousClock().measure { for _ in 0..<20 { _ = names.replaced(inText: text, wholeWords: true) } }
            }.min() ?? .zero
        }
        // A search for each of them would take 500 times as long.
        #expect(time(5_000) < time(10) * 20)
    }
}

extension Sequence<UInt8> {
    fileprivate func contains(_ other: some Sequence<UInt8>) -> Bool {
        let (whole, part) = (Array(self), Array(other))
        guard whole.count >= part.count else { return false }
        return (0...(whole.count - part.count)).contains { whole[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
