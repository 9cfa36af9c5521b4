import Foundation

/// `fuzz SECONDS SEED JOURNAL FINDINGS`: all subjects in turns for so long.
/// `fuzz recover JOURNAL FINDINGS`: saves the input that a process died of.
/// `fuzz read SUBJECT FILE`: one input, again.
/// `fuzz seeds FOLDER`: a file for each seed of the subjects of signed data, for a fuzzer that wants files.
package enum FuzzProgram {
    /// The exit status: 0 nothing found, 1 something found, 2 wrong use.
    package static func run(_ arguments: [String]) -> Int32 {
        do {
            switch arguments.first {
            case "recover" where arguments.count == 3: return try recover(arguments[1], CorpusFolder(arguments[2]))
            case "read" where arguments.count == 3: return try read(arguments[1], arguments[2])
            case "seeds" where arguments.count == 2: return try seeds(arguments[1])
            default:
                guard arguments.count == 4, let seconds = Double(arguments[0]), let seed = UInt64(arguments[1]),
                    let journal = InputJournal(path: arguments[2])
                else { return wrongUse() }
                return try campaign(seconds, seed, journal, CorpusFolder(arguments[3]))
            }
        } catch {
            print("fuzz: \(error)")
            return 2
        }
    }

    private static func wrongUse() -> Int32 {
        print("usage: fuzz SECONDS SEED JOURNAL FINDINGS | recover JOURNAL FINDINGS | read SUBJECT FILE | seeds FOLDER")
        return 2
    }

    private static func campaign(
        _ seconds: Double, _ seed: UInt64, _ journal: InputJournal, _ folder: CorpusFolder
    ) throws -> Int32 {
        var campaigns = try FuzzSubjects.all().map {
            FuzzCampaign($0, seed: seed, corpus: CorpusFolder.standard.inputs(of: $0.name))
        }
        var findings = campaigns.flatMap { $0.plainFindings() }
        let clock = ContinuousClock()
        var time = [Duration](repeating: .zero, count: campaigns.count)
        var inputs = [Int](repeating: 0, count: campaigns.count)
        let began = clock.now
        while clock.now - began < .seconds(seconds), findings.count < 100 {
            for index in campaigns.indices {
                // The share that it has in a short run.
                let count = max(1, campaigns[index].subject.inputs / 100)
                let name = campaigns[index].subject.name
                let start = clock.now
                findings += campaigns[index].run(inputs: count) { journal.note(name, $0) }
                time[index] += clock.now - start
                inputs[index] += count
            }
        }
        for index in campaigns.indices {
            let rate = Double(inputs[index]) / max(0.001, time[index] / .seconds(1))
            let name = campaigns[index].subject.name
            print("\(name.padding(toLength: 12, withPad: " ", startingAt: 0)) \(inputs[index]) inputs, \(Int(rate))/s")
        }
        let (total, whole) = (inputs.reduce(0, +), (clock.now - began) / .seconds(1))
        print("\(total) inputs in \(Int(whole)) s, \(Int(Double(total) / max(0.001, whole)))/s; seed \(seed)")
        for finding in findings {
            print("\(finding): \(try folder.save(finding.input, of: finding.subject))")
        }
        print("\(findings.count) broken promises, 0 crashes")
        return findings.isEmpty ? 0 : 1
    }

    private static func recover(_ journal: String, _ folder: CorpusFolder) throws -> Int32 {
        guard let last = InputJournal.last(in: Array(try Data(contentsOf: URL(filePath: journal)))) else {
            print("fuzz: \(journal) holds no input")
            return 2
        }
        print("1 crash, of \(last.subject): \(try folder.save(last.input, of: last.subject))")
        return 1
    }

    private static func read(_ name: String, _ path: String) throws -> Int32 {
        guard let subject = try FuzzSubjects.all().first(where: { $0.name == name }) else { return wrongUse() }
        let what = subject.read(Array(try Data(contentsOf: URL(filePath: path))))
        print(what ?? "all promises held")
        return what == nil ? 0 : 1
    }

    private static func seeds(_ folder: String) throws -> Int32 {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (index, subject) in try SignedDataSubjects.all().enumerated() {
            for (number, seed) in (subject.seeds + CorpusFolder.standard.inputs(of: subject.name)).enumerated() {
                let file = URL(filePath: folder).appending(path: "\(subject.name)-\(number)")
                try Data([UInt8(truncatingIfNeeded: index)] + seed).write(to: file)
            }
        }
        return 0
    }
}
