import Base
import Crypto
import Database
import Testing

struct PackedPayloadTests {
    private static let header = Array(Base64.encodeURL(Array(#"{"alg":"ES256","x5c":["\#(random(900))"]}"#.utf8)).utf8)

    private static func random(_ count: Int) -> String { Base64.encode(SecureRandom.bytes(count)) }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static let transaction = """
        {"transactionId":"2000000900000001","originalTransactionId":"2000000900000001","productId":"pro_monthly",\
        "purchaseDate":1790000000000,"expiresDate":1792592000000,"price":9990,"currency":"USD"}
        """

    private static func jws(_ header: [UInt8], _ payload: String, signature: Int = 64) -> String {
        let signature = Base64.encodeURL(SecureRandom.bytes(signature))
        return "\(text(header)).\(Base64.encodeURL(Array(payload.utf8))).\(signature)"
    }

    private static func payload(_ transaction: String, _ renewal: String) -> String {
        """
        {"notificationType":"DID_RENEW","notificationUUID":"\(random(12))","data":{"bundleId":"com.example.app",\
        "signedTransactionInfo":"\(transaction)","signedRenewalInfo":"\(renewal)","status":1},"version":"2.0"}
        """
    }

    private static var payloads: [String] {
        let (good, other) = (jws(header, transaction), jws(Array("b3RoZXI".utf8), transaction))
        let head = text(header)
        return [
            payload(good, jws(header, "{}")), payload(other, good), payload(good, other),
            payload(jws(header, "", signature: 0), "\(head)."), payload("\(head)..", "\(head).e30"),
            payload("\(head).e3=.AA", "\(head).e31.AB"), payload("\(head).e30.AA.AA", "\(head)\(head).e30.AA"),
            payload(good + #"\u0041"#, good + "\n"), "", "{}", "\(head).e30.AA", #"\#(head).e30.AA""#, ".\"..\"",
            good, good + "\"" + good + "\"",
        ]
    }

    @Test(arguments: PackedPayloadTests.payloads)
    func `a payload is restored byte for byte, however its parts are spelled`(_ payload: String) throws {
        let bytes = Array(payload.utf8)
        let id = StoredJWS.headerID(Self.header)
        let packed = try HeaderDictionaries().compress(bytes, header: Self.header, id: id)
        let stored = StoredJWS(headerID: id, payload: packed, signature: [])
        #expect(try HeaderDictionaries().restore(stored, header: Self.header) == bytes)
    }

    @Test func `what is signed inside is kept without its header, at a tenth of its size`() throws {
        let payload = Self.payload(Self.jws(Self.header, Self.transaction), Self.jws(Self.header, Self.transaction))
        let packed = try HeaderDictionaries().compress(
            Array(payload.utf8), header: Self.header, id: StoredJWS.headerID(Self.header))
        #expect(packed.count < payload.utf8.count / 10)
        #expect(packed.count < 400)
    }

    @Test func `a payload that is damaged is refused`() throws {
        let id = StoredJWS.headerID(Self.header)
        let bytes = Array(Self.payload(Self.jws(Self.header, Self.transaction), "").utf8)
        var packed = try HeaderDictionaries().compress(bytes, header: Self.header, id: id)
        packed[packed.count / 2] ^= 1
        let damaged = StoredJWS(headerID: id, payload: packed, signature: [])
        #expect(throws: (any Error).self) { try HeaderDictionaries().restore(damaged, header: Self.header) }
        let empty = StoredJWS(headerID: id, payload: [], signature: [])
        #expect(throws: (any Error).self) { try HeaderDictionaries().restore(empty, header: Self.header) }
    }
}
