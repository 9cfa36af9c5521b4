import Base
import Testing

@testable import Queue
@testable import Records

/// What is stored is needed for ever: bytes that were written once must always be read. If one of these fails, the
/// format changed, and every database in use would be unreadable: a new format needs a first byte of its own (zstd's
/// frames begin with 0x28) and the old one has to stay.
@Suite struct StoredFormatTests {
    private static let header = Array("eyJhbGciOiJFUzI1NiIsIng1YyI6WyJhIiwiYiIsImMiXX0".utf8)
    private static let inner = Base64.encodeURL(Array(#"{"transactionId":"2000000123","productId":"pro"}"#.utf8))
    private static let signature = Base64.encodeURL((0..<64).map { UInt8($0) })
    private static let payload = Array(
        """
        {"notificationType":"DID_RENEW","notificationUUID":"u","data":{"bundleId":"com.example","signedTransactionInfo":\
        "\(String(decoding: header, as: UTF8.self)).\(inner).\(signature)","status":1},"signedDate":1790000000000}
        """.utf8)
    private static let fact = Array(
        #"{"transactionId":"2000000123","productId":"pro","price":9990,"signedDate":1790000000000}"#.utf8)
    private static let body = Array(
        #"{"event":{"event_timestamp_ms":1790000000000,"product_id":"pro","type":"RENEWAL"},"api_version":"1.0"}"#.utf8)

    private static let storedPayload =
        "KLUv/WQPAK0DAOQEAQFxMEB1ZXhhbXAxMjMifTB9AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJC"
        + "UmJygpKissLS4vNDU2Nzg5Ojs8PT4/DABBhwC4gnfIzmJfh7nO3nyWC/weAFFkQSPKHvM3Tm5haF+WFhWh30g="
    private static let storedFact = "KLUv/SRYxQAAQDAxMjNwcm99BABUW4DtQkZU0ZFpUAABoLkolA=="
    private static let storedBody = "KLUv/SRmlQAAGHBybwQAaSggGQETsw3oSwIIOkX3Ig=="

    private func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.decode(text.utf8))
    }

    @Test func `payloads of notifications`() throws {
        let id = StoredJWS.headerID(Self.header)
        let stored = StoredJWS(headerID: id, payload: try bytes(Self.storedPayload), signature: [])
        #expect(try HeaderDictionaries().restore(stored, header: Self.header) == Self.payload)
    }

    @Test func `payloads of facts`() throws {
        #expect(try FactCodec.restore(try bytes(Self.storedFact)) == Self.fact)
    }

    @Test func `bodies of events`() throws {
        #expect(try EventBodyCodec.restore(try bytes(Self.storedBody)) == Self.body)
    }
}
