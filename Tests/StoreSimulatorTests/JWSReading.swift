import Base
import Testing

@testable import StoreSimulator

/// Reads what was signed, without any check.
enum JWSReading {
    static func parts(_ jws: String) throws -> (header: JSON, payload: JSON, signature: [UInt8]) {
        let segments = jws.split(separator: ".", omittingEmptySubsequences: false)
        try #require(segments.count == 3)
        let bytes = try segments.map { try #require(Base64.decodeURL(Array($0.utf8))) }
        return (try JSON(parsing: bytes[0]), try JSON(parsing: bytes[1]), bytes[2])
    }

    static func payload(body: [UInt8]) throws -> JSON {
        try parts(try #require(try JSON(parsing: body)["signedPayload"]?.stringValue)).payload
    }
}

/// One instant for all tests: 2026-11-01.
let testNow: Int64 = 1_793_491_200_000
let day = StoreProduct.day
