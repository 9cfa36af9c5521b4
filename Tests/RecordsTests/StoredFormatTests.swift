import Base
import Testing

@testable import Queue
@testable import Records

/// What is stored is needed for ever: bytes that were written once must always be read. If one of these fails, the
/// format changed, and every database in use would be unreadable: a new format needs a mark of its own (zstd's frames
/// begin with 0x28, and name a dictionary where they were made with tables) and the old ones have to stay.
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

    private static let payloadWithTables =
        "KLUv/WUBDwCVAwDkBAEBcTBAdWV4YW1wMTIzIn0wfQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIy"
        + "QlJicoKSorLC0uLzQ1Njc4OTo7PD0+Pwz8QQ8AId1hlhDb4Lm+f/buDxRFARSRzubqlatd7RI8mgcVod9I"
    private static let factWithTables = "KLUv/SUBWL0AAEAwMTIzcHJvfQT8VBZsoR1VWNOATFAEoLkolA=="
    private static let longFact = Array(
        """
        {"transactionId":"2000593000353002","webOrderLineItemId":"2000593000353502","purchaseDate":1766171263404,\
        "appAccountToken":"bc7ceeaa-31e8-4e20-ba8c-76f739ccbb92","expiresDate":1768763263404,\
        "appTransactionId":"704700593000353000"}
        """.utf8)
    private static let longFactWithTables =
        "KLUv/SUB5lUCAJPECp8KIvZia2tvD0FR9NpT6xW5gxayt8tf6nLuvagjaHG1sexsjRmisiKiPgcL/B2gPCPEULGx0j"
        + "IGbitxai3XmitbrGL6zUP2efLKig=="
    private static let bodyWithTables = "KLUv/SUBZp0AABhwcm8E/OlBkfjhYWIDfdziagI6Rfci"

    private func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.decode(text.utf8))
    }

    @Test(arguments: [storedPayload, payloadWithTables])
    func `payloads of notifications`(stored: String) throws {
        let id = StoredJWS.headerID(Self.header)
        let stored = StoredJWS(headerID: id, payload: try bytes(stored), signature: [])
        #expect(try HeaderDictionaries().restore(stored, header: Self.header) == Self.payload)
    }

    @Test(arguments: [(storedFact, fact), (factWithTables, fact), (longFactWithTables, longFact)])
    func `payloads of facts`(stored: String, fact: [UInt8]) throws {
        #expect(try FactCodec.restore(try bytes(stored)) == fact)
    }

    @Test(arguments: [storedBody, bodyWithTables])
    func `bodies of events`(stored: String) throws {
        #expect(try EventBodyCodec.restore(try bytes(stored)) == Self.body)
    }
}
