import Base

/// Short names for answers: the status, and the word that the body gives it (`status` or `error.code`).
struct AnswerNames {
    private var known: [[UInt8]: String] = [:]

    /// Remembers the bodies it has seen, because there are few different ones and parsing would cost the measured.
    mutating func name(_ answer: HTTPAnswer) -> String {
        let word = known[answer.body] ?? AnswerNames.word(answer.body)
        if known.count < 100 { known[answer.body] = word }
        return word.isEmpty ? "\(answer.status)" : "\(answer.status) \(word)"
    }

    private static func word(_ body: [UInt8]) -> String {
        guard body.count < 4096, let json = try? JSON(parsing: body) else { return "" }
        let word = json["status"]?.stringValue ?? json["error"]?["code"]?.stringValue ?? ""
        return String(word.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7f }.prefix(40).map(Character.init))
    }
}
