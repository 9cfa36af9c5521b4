import Base
import Database
import StoreSimulator
import Subscriptions

/// What a worker keeps of a notification, without the notification: transaction, renewal info, and what it says itself.
struct FactsOfNotification {
    /// What the two are signed with; without it they get a header and a signature that verify nothing, which costs nothing.
    let signer: NotificationSigner?

    private static let noHeader = Array("eyJhbGciOiJFUzI1NiJ9".utf8)
    private static let dot = UInt8(ascii: ".")

    /// None of a notification about no purchase.
    func facts(of notification: StoreNotification) throws -> [FactRow] {
        guard case .data(_, let transaction?, let renewal, let status) = notification.content else { return [] }
        let date = notification.signedDate
        var facts = [try fact(.transaction, transaction, date)]
        if let renewal { facts.append(try fact(.renewal, renewal, date)) }
        let said = NotificationFact(
            uuid: notification.uuid, type: notification.type, subtype: notification.subtype,
            status: status.map { Int(clamping: $0) }, signedDate: date)
        facts.append(
            FactRow(kind: .notification, signedDate: date, header: nil, signature: nil, payload: said.payload))
        return facts
    }

    private func fact(_ kind: FactRow.Kind, _ json: JSON, _ date: Int64) throws -> FactRow {
        let payload = json.bytes
        guard let signer else {
            let signature = (0..<8).flatMap { _ in withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { Array($0) } }
            return FactRow(
                kind: kind, signedDate: date, header: FactsOfNotification.noHeader, signature: signature,
                payload: payload)
        }
        let jws = try signer.sign(bytes: payload)
        guard let first = jws.firstIndex(of: FactsOfNotification.dot),
            let last = jws.lastIndex(of: FactsOfNotification.dot),
            let signature = Base64.decodeURL(jws[(last + 1)...])
        else { throw BenchmarkFailure("a JWS has three parts") }
        return FactRow(
            kind: kind, signedDate: date, header: Array(jws[..<first]), signature: signature, payload: payload)
    }
}
