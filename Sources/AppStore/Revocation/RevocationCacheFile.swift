import Base
import Crypto

/// What is known about certificates, as a file keeps it between two lives of a process: an expired certificate can be
/// judged only by what was known last, since responders forget it.
package enum RevocationCacheFile {
    /// Certificates at most; those known to be revoked come first.
    private static let limit = 512

    package static func encode(_ answers: [[UInt8]: OCSPAnswer]) -> [UInt8] {
        let ordered = answers.sorted { one, other in
            let (first, second) = (isRevoked(one.value), isRevoked(other.value))
            return first == second ? one.value.thisUpdate > other.value.thisUpdate : first
        }
        let entries = ordered.prefix(limit).map { fingerprint, answer in
            var revocation: OCSPAnswer.Revocation?
            if case .revoked(let found) = answer.status { revocation = found }
            return JSON.object([
                "certificate": .string(Hex.encode(fingerprint)),
                "revoked_ms": revocation.map { .int($0.date) },
                "reason": revocation?.reason.map { .int(Int64($0)) },
                "this_update_ms": .int(answer.thisUpdate), "next_update_ms": .int(answer.nextUpdate),
            ])
        }
        return JSON.object(["certificates": .array(Array(entries))]).bytes + [UInt8(ascii: "\n")]
    }

    /// Nil for a file that is none of these; entries that make no sense are left out.
    package static func decode(_ bytes: [UInt8]) -> [[UInt8]: OCSPAnswer]? {
        guard let entries = (try? JSON(parsing: bytes))?["certificates"]?.arrayValue else { return nil }
        var answers: [[UInt8]: OCSPAnswer] = [:]
        for entry in entries.prefix(limit) {
            guard let fingerprint = entry["certificate"]?.stringValue.flatMap(Hex.decode), fingerprint.count == 32,
                let thisUpdate = entry["this_update_ms"]?.intValue, let nextUpdate = entry["next_update_ms"]?.intValue
            else { continue }
            let reason = entry["reason"]?.intValue.map { Int(clamping: $0) }
            let revocation = entry["revoked_ms"]?.intValue.map { OCSPAnswer.Revocation(date: $0, reason: reason) }
            answers[fingerprint] = OCSPAnswer(
                status: revocation.map { .revoked($0) } ?? .good, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
        return answers
    }

    private static func isRevoked(_ answer: OCSPAnswer) -> Bool {
        if case .revoked = answer.status { true } else { false }
    }
}
