/// Gives mutated inputs to a subject, in an order that its seed alone decides.
package struct FuzzCampaign: Sendable {
    /// A promise that did not hold.
    package struct Finding: Sendable, Equatable, CustomStringConvertible {
        package let subject: String
        package let input: [UInt8]
        package let what: String

        package var description: String { "\(subject), \(input.count) bytes: \(what)" }
    }

    package let subject: FuzzSubject
    private let seeds: [[UInt8]]
    private var mutator: Mutator

    /// - Parameter corpus: inputs that once were a finding, as further seeds.
    package init(_ subject: FuzzSubject, seed: UInt64, corpus: [[UInt8]] = []) {
        self.subject = subject
        seeds = subject.seeds + corpus
        // Each subject its own numbers: FNV-1a of its name.
        let name = subject.name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        mutator = Mutator(seed: seed ^ name)
    }

    /// The seeds as they are: readers that refuse all of them test nothing, and those that trap do so at once.
    package func plainFindings() -> [Finding] {
        seeds.compactMap { finding($0) }
    }

    /// - Parameter notice: called with each input before it is read.
    package mutating func run(inputs: Int, notice: ([UInt8]) -> Void = { _ in }) -> [Finding] {
        var findings: [Finding] = []
        for _ in 0..<inputs {
            let input = mutator.input(from: seeds)
            notice(input)
            if let finding = finding(input) { findings.append(finding) }
        }
        return findings
    }

    private func finding(_ input: [UInt8]) -> Finding? {
        subject.read(input).map { Finding(subject: subject.name, input: input, what: $0) }
    }
}

/// All subjects.
package enum FuzzSubjects {
    package static func all() throws -> [FuzzSubject] {
        try SignedDataSubjects.all() + TextSubjects.all() + StoredDataSubjects.all()
    }
}
