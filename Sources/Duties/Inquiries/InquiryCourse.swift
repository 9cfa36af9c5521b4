import AppStoreAPI
import Base
import Database

/// How an inquiry goes on after one part of an answer. Pure.
enum InquiryCourse: Sendable {
    /// The next part is asked for after so many ms.
    case goOn(InquiryProgress, after: Int64, failures: Int64)
    case over(ChangeEnding)

    /// Failures behind each other, of Apple or of the database, without a part that came, after which an inquiry is given up: it takes
    /// some minutes.
    static let patience: Int64 = 8
    /// ms by which the first failure puts it off; each further one doubles them, up to the second number.
    private static let delays: (first: Int64, longest: Int64) = (1_000, 60_000)
    /// Parts of one inquiry: a history of some 400,000 transactions.
    private static let mostParts: Int64 = 1_000
    /// ms before the next part: other inquiries go first.
    private static let pause: Int64 = 20

    /// - Parameters:
    ///   - progress: as it is with what was kept of the answer.
    ///   - failures: before this answer.
    init(_ answer: InquiryLook.Answer, _ inquiry: Inquiry, _ progress: InquiryProgress, failures: Int64) {
        switch answer.ending {
        case .more:
            var progress = progress
            progress.parts += 1
            self =
                progress.parts < InquiryCourse.mostParts
                ? .goOn(progress, after: InquiryCourse.pause, failures: 0)
                : .over(.failed("Apple's history of it has no end; its first parts are kept."))
        case .whole: self = .over(inquiry.isOrder ? progress.ofOrder : .done(progress.ofPurchase))
        case .unknown: self = .over(.done(InquiryProgress.unknownPurchase))
        // The process ends; another one goes on at once.
        case .failed(.cancelled): self = .goOn(progress, after: 0, failures: failures)
        case .failed(let error) where answer.isPassing(error) && failures + 1 < InquiryCourse.patience:
            self = .goOn(progress, after: InquiryCourse.delay(after: failures), failures: failures + 1)
        case .failed(let error):
            let sentence = InquiryCourse.printable(InquiryCourse.sentence(error, failures + 1))
            guard case .order(_, let apps) = inquiry, let app = answer.app else {
                self = .over(.failed(sentence))
                return
            }
            // The other apps are asked about all the same.
            var progress = progress
            progress.failures[app] = sentence
            let isLast = progress.answered.count + progress.failures.count >= apps.count
            self = isLast ? .over(progress.ofOrder) : .goOn(progress, after: InquiryCourse.pause, failures: 0)
        }
    }

    /// ms by which one more failure puts an inquiry off.
    ///
    /// - Parameter failures: before it.
    static func delay(after failures: Int64) -> Int64 { min(delays.first << min(failures, 10), delays.longest) }

    /// Where the database failed so often.
    static func givenUp(_ error: any Error, _ tries: Int64) -> String {
        "The last of \(tries) tries failed here (\(error)), and the question is given up."
    }

    /// Words of Apple's may have characters in them that no column of the database takes.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    private static func sentence(_ error: ServerAPIError, _ tries: Int64) -> String {
        switch error {
        case .unauthorized: "Apple takes no key of the app (\(error)); look at server_api in the configuration."
        case .untrusted, .malformed, .tooLarge: "Nothing was kept of Apple's answer, which cannot be used: \(error)."
        case .refused(let rejection) where rejection.status == 429:
            "Apple turned the last of \(tries) tries away, because all programs with a key of the app ask too often together;"
                + " ask again later."
        case .refused(let rejection) where rejection.isRetryable:
            "Apple's server failed at the last of \(tries) tries (\(error)); ask again later."
        case .unreachable, .outOfTime: "Apple gave no answer at the last of \(tries) tries (\(error)); ask again later."
        case .limited(let until?):
            "Apple was not asked at the last of \(tries) tries: its rate limit holds the app's requests back until"
                + " \(Timestamp.text(until)); ask again then."
        case .limited:
            "Apple was not asked at the last of \(tries) tries: too many requests of the app wait for Apple's rate limit; ask"
                + " again later."
        case .refused, .invalid, .cancelled: "Apple cannot be asked about it: \(error)."
        }
    }
}
