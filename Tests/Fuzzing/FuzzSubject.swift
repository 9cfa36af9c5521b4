/// Something that reads bytes of strangers.
package struct FuzzSubject: Sendable {
    /// Letters and dashes; also the name of its folder in the corpus.
    package let name: String
    /// What mutations start from.
    package let seeds: [[UInt8]]
    /// How many inputs a short run gives it.
    package let inputs: Int
    /// Reads one input. A text says which promise did not hold; a promise that traps ends the process.
    package let read: @Sendable ([UInt8]) -> String?

    package init(
        _ name: String, seeds: [[UInt8]], inputs: Int, read: @escaping @Sendable ([UInt8]) -> String?
    ) {
        self.name = name
        self.seeds = seeds
        self.inputs = inputs
        self.read = read
    }

    /// A reader of texts; bytes that are no UTF-8 come as replacement characters.
    package init(
        text name: String, seeds: [String], inputs: Int = 16_000, read: @escaping @Sendable (String) -> String?
    ) {
        self.init(name, seeds: seeds.map { Array($0.utf8) }, inputs: inputs) { bytes in
            read(String(decoding: bytes, as: UTF8.self))
        }
    }
}
