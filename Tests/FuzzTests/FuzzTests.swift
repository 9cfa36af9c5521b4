import AppStore
import Base
import Foundation
import Fuzzing
import Testing

/// More than 200,000 inputs, the same ones each time but for the signatures in them; `deploy/fuzz` takes others, for as long as one likes.
struct FuzzTests {
    private static let subjects = (try? FuzzSubjects.all()) ?? []
    private static let names = subjects.map(\.name)

    private func subject(_ name: String) throws -> FuzzSubject {
        try #require(Self.subjects.first { $0.name == name })
    }

    @Test(arguments: names)
    func `no input stops the process or breaks a promise`(name: String) throws {
        let subject = try subject(name)
        var campaign = FuzzCampaign(subject, seed: 1, corpus: CorpusFolder.standard.inputs(of: name))
        #expect(campaign.plainFindings() == [])
        #expect(campaign.run(inputs: subject.inputs).prefix(3) == [])
    }

    /// Where the seeds of signed data were refused, every mutation would be refused with them.
    @Test func `what inputs are made from is genuine`() throws {
        let chain = try FuzzChain()
        let verifier = SignedDataVerifier(trust: chain.trust, clock: FixedClock(FuzzChain.date))
        let inspector = SignedDataInspector(verifier: verifier)
        let payloads = [FuzzChain.transaction, FuzzChain.renewal, FuzzChain.appTransaction, chain.notification()]
        for payload in payloads + FuzzChain.plainNotifications {
            #expect(throws: Never.self) { try inspector.inspect(chain.sign(payload)).get() }
        }
        let found = try inspector.inspect(chain.sign(chain.notification())).get()
        #expect(found.nested.transaction != nil && found.nested.renewal != nil)
        #expect(FuzzChain.unsigned(chain.notification()) == FuzzChain.unsigned(chain.notification()))
        #expect(chain.notification() != chain.notification())
    }

    @Test func `all subjects together get more than 200,000 inputs`() {
        #expect(Self.subjects.reduce(0) { $0 + $1.inputs } > 200_000)
        #expect(Set(Self.names).count == Self.names.count && Self.names.count >= 20)
    }

    @Test func `every folder of the corpus is a subject's`() throws {
        let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")
        let folders = try FileManager.default.contentsOfDirectory(atPath: corpus.path).filter { !$0.hasSuffix(".md") }
        #expect(Set(folders).isSubset(of: Self.names))
    }

    @Test func `the same seed gives the same inputs, another one others`() {
        func inputs(_ seed: UInt64) -> [[UInt8]] {
            var mutator = Mutator(seed: seed)
            return (0..<200).map { _ in mutator.input(from: [Array("seed".utf8), []]) }
        }
        #expect(inputs(1) == inputs(1))
        #expect(inputs(1) != inputs(2))
        #expect(Set(inputs(1)).count > 100)
    }

    @Test func `a broken promise is found, with its input`() {
        let subject = FuzzSubject("picky", seeds: [Array("abc".utf8)], inputs: 1000) { $0.first == 0x61 ? nil : "no a" }
        var campaign = FuzzCampaign(subject, seed: 1)
        #expect(campaign.plainFindings() == [])
        let found = campaign.run(inputs: subject.inputs)
        #expect(!found.isEmpty && found.count < 1000)
        #expect(found.allSatisfy { $0.input.first != 0x61 && $0.what == "no a" && $0.subject == "picky" })
    }

    @Test func `the input that a process dies of is in its journal`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "entitled-journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let journal = try #require(InputJournal(path: path))
        #expect(InputJournal.last(in: Array(try Data(contentsOf: URL(filePath: path)))) == nil)
        for input in [[], [1, 2, 3], [UInt8](repeating: 9, count: Mutator.longest), [4]] {
            journal.note("jws", input)
            let last = InputJournal.last(in: Array(try Data(contentsOf: URL(filePath: path))))
            #expect(last?.subject == "jws" && last?.input == input)
        }
    }
}
