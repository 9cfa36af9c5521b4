import AppStoreAPI
import Base
import Database
import Testing

@testable import Duties

/// What a question to Apple comes to, by its answers alone.
@Suite struct InquiryCourseTests {
    @Test func `words of Apple's have no characters that the database does not take`() {
        let inquiry = Inquiry.order("M1234567", apps: ["demo"])
        var answer = InquiryLook.Answer(progress: InquiryProgress())
        answer.app = "demo"
        answer.ending = .failed(.refused(ServerAPIRejection(status: 400, message: "no\u{0} such\u{1b}[2J order")))
        guard case .over(.failed(let sentence)) = InquiryCourse(answer, inquiry, answer.progress, failures: 0) else {
            Issue.record("it goes on")
            return
        }
        #expect(sentence.contains("such") && sentence.contains("order"), "\(sentence)")
        #expect(sentence.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }, "\(sentence)")
    }
}
