import Base
import Crypto
import Testing

@testable import AppStore

/// What Apple signed, with one character changed: refused for what that character was part of.
@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct GenuineCharacterTests {
    private typealias Reason = VerificationFailure.Reason

    private static let files = TestData.names("apple-signed", suffix: ".jws")
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let dot = UInt8(ascii: ".")

    @Test func `all files of the index are here, and valid for their app`() throws {
        let index = String(decoding: TestData.bytes("apple-signed/INDEX.md"), as: UTF8.self)
        let rows = index.split(separator: "\n").map {
            $0.split(separator: "|", omittingEmptySubsequences: false).map {
                String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
            }
        }.filter { $0.count == 11 && $0[1].hasSuffix(".jws") }
        #expect(rows.map { $0[1] }.sorted() == Self.files)
        #expect(rows.count == 14)
        let kinds: [String: SignedDataKind] = [
            "notification": .notification, "renewalinfo": .renewal, "transaction": .transaction,
        ]
        let inspector = SignedDataInspector(verifier: SignedDataVerifier(trust: .apple))
        for row in rows {
            let environments = Set([try #require(StoreEnvironment(rawValue: row[5]))])
            let identity = Identity(bundleID: row[6], environments: environments)
            let jws = TestData.bytes("apple-signed/\(row[1])")
            #expect(kinds[row[2]] != nil)
            let found = inspector.inspect(jws, as: kinds[row[2]], for: identity)
            #expect(row[9] == "OK" && found.failure == nil, "\(row[1])")
            let type = found.success?.notification.map { ($0.notificationType.rawValue, $0.subtype?.rawValue ?? "") }
            #expect(type.map { $0 == (row[3], row[4]) } != false)
            if row[2] != "renewalinfo" {
                let other = inspector.inspect(jws, as: kinds[row[2]], for: Identity(bundleID: "com.example.other"))
                #expect(other.failure?.reason == .wrongBundleID)
            }
            #expect(
                inspector.inspect(jws, as: kinds[row[2]], for: Identity(environments: [.production])).failure?.reason
                    == .wrongEnvironment)
        }
    }

    @Test(arguments: files)
    func `a changed character is refused for what it was part of`(file: String) throws {
        var random = SeededGenerator(state: UInt64(file.count))
        let jws = TestData.bytes("apple-signed/\(file)")
        let verifier = SignedDataVerifier(trust: .apple)
        #expect(verifier.verify(jws).failure == nil)
        let places = try Places(jws)
        // Every character of a small notification and of a transaction, some of the others.
        let isWhole = file.hasPrefix("n04") || file.hasPrefix("t11")
        let positions =
            isWhole ? Array(jws.indices) : (0..<400).map { _ in Int.random(in: jws.indices, using: &random) }
        for position in positions {
            let old = jws[position]
            let new = try #require(Self.alphabet.filter { $0 != old }.randomElement(using: &random))
            var changed = jws
            changed[position] = new
            let found = verifier.verify(changed).failure?.reason
            let allowed = places.reasons(forChangeAt: position, in: changed)
            #expect(found.map(allowed.contains) == true, "\(position): \(String(describing: found))")
        }
        for position in positions.prefix(300) {
            for other in [Self.dot, UInt8(ascii: "="), UInt8(ascii: "+"), 0x20, 0x0a, 0, 0xff]
            where jws[position] != other {
                var changed = jws
                changed[position] = other
                #expect(verifier.verify(changed).failure?.reason == .malformedJWS)
            }
        }
    }

    /// What each character of a JWS is part of.
    private struct Places {
        let jws: [UInt8]
        let header: [UInt8]
        let (firstDot, secondDot): (Int, Int)
        /// In the header's JSON: the texts of the three certificates.
        let certificates: [Range<Int>]

        init(_ jws: [UInt8]) throws {
            self.jws = jws
            firstDot = try #require(jws.firstIndex(of: dot))
            secondDot = try #require(jws.lastIndex(of: dot))
            let header = try #require(Base64.decodeURL(jws[..<firstDot]))
            self.header = header
            let quotes = header.indices.filter { header[$0] == UInt8(ascii: "\"") }
            // Each certificate is a text of more than 500 characters between two quotes.
            certificates = zip(quotes, quotes.dropFirst()).filter { $1 - $0 > 500 }.map { $0 + 1..<$1 }
            try #require(certificates.count == 3)
        }

        func reasons(forChangeAt position: Int, in changed: [UInt8]) -> Set<Reason> {
            if position == firstDot || position == secondDot { return [.malformedJWS] }
            if position > secondDot {
                // The last of 86 characters has bits that belong to no byte.
                return Base64.decodeURL(changed[(secondDot + 1)...]) == nil ? [.malformedJWS] : [.badSignature]
            }
            if position > firstDot {
                guard let payload = Base64.decodeURL(changed[(firstDot + 1)..<secondDot]) else {
                    return [.malformedJWS]
                }
                let isDate = payload != Base64.decodeURL(jws[(firstDot + 1)..<secondDot])
                // The date of signing is part of it, and leads to another instant, or to now.
                return isDate ? [.badSignature, .certificateNotValidAtDate] : []
            }
            return headerReasons(changed[..<firstDot])
        }

        private func headerReasons(_ changed: ArraySlice<UInt8>) -> Set<Reason> {
            guard let decoded = Base64.decodeURL(changed), decoded.count == header.count else { return [.malformedJWS] }
            var reasons: Set<Reason> = [.malformedJWS]
            for index in header.indices where header[index] != decoded[index] {
                switch certificates.firstIndex(where: { $0.contains(index) }) {
                case 0:
                    reasons.formUnion([.malformedCertificate, .missingLeafOID, .certificateNotValidAtDate, .badChain])
                case 1:
                    reasons.formUnion([
                        .malformedCertificate, .missingIntermediateOID, .certificateNotValidAtDate, .badChain,
                    ])
                case 2: reasons.formUnion([.malformedCertificate, .untrustedRoot])
                default: reasons.formUnion([.unsupportedAlgorithm, .chainLength, .malformedCertificate])
                }
            }
            return reasons
        }
    }
}
