import Base
import Customers
import Database
import Postgres
import Subscriptions

/// What operators change of customers.
extension ChangeWork {
    func grant(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let entitlement = parameters["entitlement"]?.stringValue, entitlements.contains(entitlement) else {
            return .refused("The entitlement is not in the configuration of the worker.")
        }
        guard let term = ChangeWork.term(parameters) else {
            return .refused("The grant has neither a duration nor an end.")
        }
        let granting = try actions(change).grant(
            entitlement, to: change.target, term, makesCustomer: false, on: connection)
        return .done(
            .object([
                "entitlement": .string(entitlement), "original_transaction_id": .string(granting.grant.id),
                "expires_at": .date(granting.grant.end), "changed": .bool(granting.isNew),
                "events": .strings(granting.events),
            ]))
    }

    func revoke(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let entitlement = parameters["entitlement"]?.stringValue else {
            return .refused("The change names no entitlement.")
        }
        let revocation = try actions(change).revoke(entitlement, from: change.target, on: connection)
        return .done(
            .object([
                "entitlement": .string(entitlement), "revoked": .strings(revocation.grants.map(\.id)),
                "changed": .bool(!revocation.grants.isEmpty), "events": .strings(revocation.events),
            ]))
    }

    static func term(_ parameters: JSON) -> GrantTerm? {
        switch (parameters["duration"], parameters["until"]) {
        case (let duration?, nil):
            duration.stringValue.flatMap(GrantDuration.init(rawValue:)).map { .lasting($0) }
        case (nil, let until?): until.intValue.map { .until($0) }
        default: nil
        }
    }

    func note(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let text = parameters["text"]?.stringValue, !text.isEmpty,
            text.unicodeScalars.count <= CustomerNoteTable.longest
        else { return .refused("The note has no text, or one that is too long.") }
        let note = try actions(change).note(text, about: change.target, on: connection)
        return .done(.object(["note": .int(note.id)]))
    }

    func removeNote(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let id = parameters["note"]?.intValue else { return .refused("The change names no note.") }
        let ids = try CustomerTable.load([change.target], on: connection)[change.target]?.appUserIDs ?? []
        switch try CustomerNoteTable.remove(id, of: ids, by: change.user, on: connection) {
        case .done: return .done(.object(["note": .int(id)]))
        case .notFound: return .refused("There is no such note.")
        case .othersNote(let author): return .refused("The note is \(author)'s.")
        }
    }

    /// The outcomes of these name no other customer: a deletion of theirs would not find it there.
    func alias(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let other = parameters["alias"]?.stringValue else { return .refused("The change names no alias.") }
        let alias: CustomerActions.Alias
        do {
            alias = try actions(change).alias(
                change.target, other, makesOther: parameters["create"] == .bool(true), on: connection)
        } catch CustomerActions.Rejection.unknown(other) where other != change.target {
            return .refused("No customer has the other id.")
        }
        return .done(.object(["ids": .int(Int64(alias.appUserIDs.count)), "changed": .bool(alias.isNew)]))
    }

    func transfer(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let to = parameters["to"]?.stringValue else { return .refused("The change names no other customer.") }
        let transfer: CustomerActions.Transfer
        do {
            transfer = try actions(change).transfer(
                from: change.target, to: to, only: parameters["purchase"]?.stringValue.map { [$0] } ?? [],
                makesCustomer: false, on: connection)
        } catch CustomerActions.Rejection.unknown(to) where to != change.target {
            return .refused("No customer has the other id.")
        }
        return .done(ChangeWork.moved(transfer))
    }

    private static func moved(_ transfer: CustomerActions.Transfer) -> JSON {
        .object([
            "purchases": .strings(transfer.purchases.map(\.originalTransactionID)),
            "changed": .bool(!transfer.purchases.isEmpty), "events": .strings(transfer.events),
        ])
    }

    func claim(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let app = parameters["app"]?.stringValue, let id = parameters["purchase"]?.stringValue,
            let environment = parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return .refused("The change names no purchase.") }
        let claim = try actions(change).claim(
            PurchaseKey(app: app, environment: environment, originalTransactionID: id), by: change.target,
            settings: restoreSettings, makesCustomer: false, on: connection)
        switch claim {
        case .theirs: return .done(.object(["claim": .string("theirs"), "changed": .bool(false)]))
        case .joined(let alias):
            return .done(
                .object([
                    "claim": .string("joined"), "ids": .int(Int64(alias.appUserIDs.count)), "changed": .bool(true),
                ]))
        case .moved(let transfer):
            return .done(
                .object(
                    [JSON.Member(name: "claim", value: .string("moved"))] + (ChangeWork.moved(transfer).members ?? [])))
        }
    }
}
