import Base
import Crypto
import Testing

@testable import AppStore

/// App receipts as Xcode makes them, with indefinite lengths; the signature is a developer's machine's.
@Suite(.enabled(if: TestData.isPresent, "skipped: no real data"))
struct ReceiptPayloadTests {
    private static func receipt(_ name: String) -> [UInt8] {
        let text = TestData.bytes("apple-test/xcode/\(name)").filter { $0 > 0x20 }
        return Base64.decode(text) ?? []
    }

    @Test func `a receipt of Xcode's is read`() throws {
        let message = try #require(SignedMessage(Self.receipt("xcode-app-receipt-with-transaction")))
        let payload = try #require(ReceiptPayload(message.content))
        #expect(payload.type == "Xcode")
        #expect(payload.bundleID == "com.example.naturelab.backyardbirds.example")
        #expect(payload.created == Timestamp.parse("2023-10-19T01:45:40Z"))
        #expect(payload.purchases.map(\.transactionID) == ["0"])
        #expect(payload.purchases.map(\.originalTransactionID) == ["0"])
        #expect(payload.purchases.map(\.purchased) == [Timestamp.parse("2023-10-19T01:45:36Z")])
        let empty = try #require(SignedMessage(Self.receipt("xcode-app-receipt-empty")))
        #expect(ReceiptPayload(empty.content)?.purchases.isEmpty == true)
    }

    @Test func `it is refused as what it is`() {
        let verifier = ReceiptVerifier(trust: TrustAnchors())
        guard case .failure(.xcode) = verifier.verify(Self.receipt("xcode-app-receipt-with-transaction")) else {
            Issue.record("Xcode's receipt is not recognised")
            return
        }
    }

    @Test func `no prefix of a payload and no changed byte makes the reader fall`() throws {
        let message = try #require(SignedMessage(Self.receipt("xcode-app-receipt-with-transaction")))
        for place in message.content.indices {
            _ = ReceiptPayload(Array(message.content.prefix(place)))
            for bits in [0x01, 0x7f, 0x80, 0xff] as [UInt8] {
                var changed = message.content
                changed[place] ^= bits
                _ = ReceiptPayload(changed)
            }
        }
    }
}
