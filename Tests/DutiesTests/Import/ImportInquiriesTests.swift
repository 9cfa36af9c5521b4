import AppStoreAPI
import Base
import Daemon
import Testing

@testable import Duties

/// Questions of an import to Apple, asked beside what is brought in.
@Suite struct ImportInquiriesTests {
    private static func question(_ number: Int) -> (number: Int, question: ImportLookup.Question) {
        (number, ImportLookup.Question(id: "\(number)", named: ["\(number)"], environments: [.production]))
    }

    @Test func `questions are asked in their order, beside each other, and each is answered once`() throws {
        let asked = Monitor<[String]>([])
        let inquiries = try ImportInquiries(threads: 4) { question in
            asked.change { $0.append(question.id) }
            // Each of the first four needs the others to be asked meanwhile.
            #expect(asked.wait(timeout: .seconds(20)) { $0.count >= 4 ? true : nil } == true)
            return .unknown(question.id)
        }
        inquiries.add((0..<20).map(Self.question))
        inquiries.add((20..<40).map(Self.question))
        var answers: [Int: String] = [:]
        for number in 0..<40 where answers[number] == nil {
            try inquiries.wait(for: number)
            for (place, answer) in inquiries.answers() {
                guard case .unknown(let text) = answer else { continue }
                #expect(answers.updateValue(text, forKey: place) == nil)
            }
        }
        #expect(answers == Dictionary(uniqueKeysWithValues: (0..<40).map { ($0, "\($0)") }))
        #expect(Set(asked.read { $0 }.prefix(4)) == ["0", "1", "2", "3"])
        #expect(asked.read { $0.count } == 40)
    }

    @Test func `an error stops what is behind it until it is asked again`() throws {
        let isDown = Monitor(true)
        let asked = Monitor<[String]>([])
        let inquiries = try ImportInquiries(threads: 1) { question throws(ServerAPIError) in
            asked.change { $0.append(question.id) }
            if question.id == "1", isDown.read({ $0 }) { throw .unreachable("down") }
            return .unknown(question.id)
        }
        inquiries.add((0..<4).map(Self.question))
        try inquiries.wait(for: 0)
        for _ in 0..<2 { #expect(throws: ServerAPIError.self) { try inquiries.wait(for: 1) } }
        #expect(throws: ServerAPIError.self) { try inquiries.wait(for: 3) }
        #expect(asked.read { $0 } == ["0", "1"])
        inquiries.resume()
        #expect(throws: ServerAPIError.self) { try inquiries.wait(for: 1) }
        isDown.change { $0 = false }
        inquiries.resume()
        try inquiries.wait(for: 3)
        #expect(asked.read { $0 } == ["0", "1", "1", "1", "2", "3"])
    }
}
