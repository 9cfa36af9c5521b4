import Base
import CLI
import EntitledApp
import Testing

/// What Apple signed, field by field.
struct SignedFieldsTests {
    private let terminal = Terminal(isInteractive: false, output: { _ in }, errors: { _ in })

    private func signed(_ json: JSON) -> JSON {
        .string("e30.\(Base64.encodeURL(json.bytes)).c2lnbmF0dXJl")
    }

    private func lines(_ json: JSON) -> [String] { SignedFields(json.bytes, terminal).lines }

    @Test func `payload, transaction and renewal info are decoded, with dates, prices and words`() {
        let transaction = JSON.object([
            "transactionId": .string("2000"), "expiresDate": .int(1_790_000_000_000), "price": .int(4800),
            "currency": .string("EUR"), "offerType": .int(1),
        ])
        let renewal = JSON.object([
            "autoRenewStatus": .int(0), "renewalPrice": .int(500_000), "currency": .string("JPY"),
            "commitmentInfo": .object(["commitmentRenewalDate": .int(1_790_000_000_000)]),
        ])
        let payload = JSON.object([
            "notificationType": .string("DID_CHANGE_RENEWAL_STATUS"),
            "data": .object([
                "bundleId": .string("com.example.app"), "status": .int(1),
                "signedTransactionInfo": signed(transaction), "signedRenewalInfo": signed(renewal),
            ]),
            "version": .string("2.0"), "signedDate": .int(1_790_000_000_000),
        ])
        #expect(
            lines(payload).joined(separator: "\n") == """
                NOTIFICATION
                  notificationType  DID_CHANGE_RENEWAL_STATUS
                  signedDate        2026-09-21T14:13:20Z
                  version           2.0

                DATA
                  bundleId  com.example.app
                  status    1 (active)

                TRANSACTION
                  currency       EUR
                  expiresDate    2026-09-21T14:13:20Z
                  offerType      1 (introductory)
                  price          4.80 EUR
                  transactionId  2000

                RENEWAL INFO
                  autoRenewStatus  0 (off)
                  currency         JPY
                  renewalPrice     500 JPY

                RENEWAL INFO, COMMITMENT INFO
                  commitmentRenewalDate  2026-09-21T14:13:20Z
                """)
    }

    @Test func `what is not as expected is shown as it is`() {
        #expect(SignedFields(Array("no json".utf8), terminal).lines == ["no json"])
        let odd = JSON.object([
            "data": .string("a.b.c"), "list": .strings(["x", "y"]), "status": .int(77), "nothing": .null,
            "price": .int(4800), "empty": .object([]),
        ])
        #expect(
            lines(odd) == [
                "NOTIFICATION", "  data     a.b.c", "  empty    {}", #"  list     ["x","y"]"#, "  nothing  null",
                "  price    4800", "  status   77",
            ])
    }

    @Test func `nesting without an end is shown as JSON from some depth on`() {
        var json = JSON.object(["end": .int(1)])
        for _ in 0..<40 { json = .object(["inner": json]) }
        #expect(lines(json).count < 20)
    }
}
