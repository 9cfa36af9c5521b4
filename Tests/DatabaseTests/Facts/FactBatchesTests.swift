import Testing

@testable import Database

struct FactBatchesTests {
    @Test(arguments: [
        ([], []), ([5], [0..<1]), ([50], [0..<1]), ([4, 4, 4], [0..<2, 2..<3]), ([10, 0, 0, 1], [0..<3, 3..<4]),
        ([50, 50, 1, 9, 1], [0..<1, 1..<2, 2..<4, 4..<5]), ([0, 50], [0..<1, 1..<2]),
    ])
    func `parts cover the list in order, and hold no more than the limit unless they are one purchase`(
        counts: [Int], parts: [Range<Int>]
    ) {
        #expect(FactBatches.split(counts, atMost: 10) == parts)
    }
}
