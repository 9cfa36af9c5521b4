import Base
import Crypto
import Testing

@testable import Database

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

    private static let longPayload = Array(
        """
        {"notificationType":"DID_RENEW","notificationUUID":"75384a69-7953-4b40-9ed0-69b8f712f07d","data":{"appAp\
        pleId":1234567890,"bundleId":"com.example.app","environment":"Sandbox","status":1},"version":"2.0","sign\
        edDate":1761279914632,"more":"b57d608b-2bd9-4449-853c-3e08e7edb2a2 63a3b671-a199-4684-af50-836a2dd0e510"\
        }
        """.utf8)
    private static let longPayloadWithTables =
        "KLUv/WUBOwAtBAAziRlDD1+z+WVpRX05/XyKFHONae9VpHXr8YpXc7CiHUtzm/zNS8mbOe0YY9rL0dKRvy53Hp80yf"
        + "OAwl6Na+/bVi0Uim4mnjBP3DP51hlfW+4/bd0nH7umX5qdPh4xvblv2rWI+c0bwC8J/EYkgMLwCWGcmpLUbzFHgcEJ"
        + "5HoDDfWewtsDTGOINQ=="
    private static let longBody = Array(
        """
        {"event":{"event_timestamp_ms":1795414957834,"product_id":"pro_yearly","purchased_at_ms":1763702460711,"\
        expiration_at_ms":1795238460711,"transaction_id":"2000593000357000","app_user_id":"$RCAnonymousID:07276e\
        2ac07055baa892841e3e578d69","price":59.99,"id":"1900B554-74C7-86DB-BE2E-30F1EDE9D583","app_id":"demo"},"\
        api_version":"1.0"}
        """.utf8)
    private static let longBodyWithTables =
        "KLUv/WUBSwB1AwBzRxJNhk253tFLkeQkuk160tOeCHqLEMfG3Y/qu24eSo89dzr29z5NVLdGraY3YXxRY6+q7rfva+"
        + "eiQn4aF2YolmlmJpkFhNdjPzvuDfxOqIRbHjTtmFyTJVfqfeeQa9K5JCSi3y86NQTo25R4Ffl8U+I="

    private func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.decode(text.utf8))
    }

    @Test(arguments: [(storedPayload, payload), (payloadWithTables, payload), (longPayloadWithTables, longPayload)])
    func `payloads of notifications`(stored: String, payload: [UInt8]) throws {
        let id = StoredJWS.headerID(Self.header)
        let stored = StoredJWS(headerID: id, payload: try bytes(stored), signature: [])
        #expect(try HeaderDictionaries().restore(stored, header: Self.header) == payload)
    }

    @Test(arguments: [(storedFact, fact), (factWithTables, fact), (longFactWithTables, longFact)])
    func `payloads of facts`(stored: String, fact: [UInt8]) throws {
        #expect(try FactCodec.restore(try bytes(stored)) == fact)
    }

    @Test(arguments: [(storedBody, body), (bodyWithTables, body), (longBodyWithTables, longBody)])
    func `bodies of events`(stored: String, body: [UInt8]) throws {
        #expect(try EventBodyCodec.restore(try bytes(stored)) == body)
    }

    /// Fixtures use a part of a dictionary; rows need all of it.
    @Test func dictionaries() throws {
        let id = StoredJWS.headerID(Self.header)
        let dictionaries = [
            try HeaderDictionaries().dictionary(Self.header, id), try FactCodec.dictionary.get(),
            try EventBodyCodec.dictionary.get(),
        ]
        #expect(
            dictionaries.map { Hex.encode(Digest.sha256($0.bytes)) } == [
                "a1d7e8992c1dee5740daddbc63c55860c70ab0a54f3372ba36dbbae2323554a3",
                "afa269b146625dac54b10af0027c47a1e95ddc07903871a1e0d1a030126c71b7",
                "78a31ce077625ec12a3033e9fef2d84da4bc72b7d6c4d74df3a68894b4ad66c4",
            ])
    }
}
