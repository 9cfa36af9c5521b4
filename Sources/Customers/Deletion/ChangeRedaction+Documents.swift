import Base
import Database

/// What the documents of a change, its parameters and its outcome, keep when they named a deleted customer.
extension ChangeRedaction {
    /// Members of an outcome that name purchases, events of them, or transactions.
    private static let identifying: Set = [
        "purchases", "revoked", "events", "original_transaction_id", "transaction_id", "request_id",
    ]

    /// What came of a change of the customer's, without ids.
    static func withoutIDs(_ outcome: String) -> String? {
        guard let members = (try? JSON(parsing: Array(outcome.utf8)))?.members else { return nil }
        return JSON.object(members.filter { !identifying.contains($0.name) }).text
    }

    /// What came of a change of another customer's, with pseudonyms for purchases.
    private static func replaced(_ value: JSON, _ purchases: Pseudonyms) -> JSON {
        switch value {
        case .string(let text): .string(purchases[text] ?? text)
        case .array(let values): .array(values.map { replaced($0, purchases) })
        case .object(let members):
            .object(members.map { JSON.Member(name: $0.name, value: replaced($0.value, purchases)) })
        default: value
        }
    }

    static func replaced(_ outcome: String, _ purchases: Pseudonyms) -> String {
        guard !purchases.names.isEmpty, let json = try? JSON(parsing: Array(outcome.utf8)) else { return outcome }
        let new = replaced(json, purchases)
        return new == json ? outcome : new.text
    }

    /// Members of parameters, at any depth, that name a purchase or a transaction, or tell Apple's own entry of an extension.
    private static let transactions: Set = ["purchase", "transaction", ChangeVersions.requestID]

    private static func withoutTransactions(_ value: JSON) -> JSON {
        switch value {
        case .array(let values): .array(values.map(withoutTransactions))
        case .object(let members):
            .object(
                members.map { member in
                    let isOne = transactions.contains(member.name) && member.value.stringValue != nil
                    return JSON.Member(
                        name: member.name, value: isOne ? .string("") : withoutTransactions(member.value))
                })
        default: value
        }
    }

    /// What was asked for about the customer, or about a purchase of theirs, without ids of purchases and transactions.
    static func withoutPurchases(_ parameters: String, _ purchases: Pseudonyms) -> String {
        let json = replaced((try? JSON(parsing: Array(withoutHashes(parameters).utf8))) ?? .null, purchases)
        return withoutTransactions(.object(json.members ?? [])).text
    }

    /// The same of a change about something else, such as a list of one purchase; nil: it names none.
    static func named(_ parameters: String?, _ purchases: Pseudonyms) -> String? {
        parameters.flatMap { replaced($0, purchases) == $0 ? nil : withoutHashes(replaced($0, purchases)) }
    }

    /// The same of a change of several customers who are named; nil: it names none of these.
    static func among(_ parameters: String?, _ names: Pseudonyms) -> String? {
        guard let parameters, let json = try? JSON(parsing: Array(parameters.utf8)), let members = json.members else {
            return nil
        }
        let new = JSON.object(
            members.map { member in
                member.name == BulkSelection.customerIDs
                    ? JSON.Member(name: member.name, value: replaced(member.value, names)) : member
            })
        return new == json ? nil : withoutHashes(new.text)
    }

    /// Parameters without hashes of what the customer was. What is no JSON is refused when it is done, and may hold anything.
    private static func withoutHashes(_ parameters: String) -> String {
        let members = (try? JSON(parsing: Array(parameters.utf8)))?.members ?? []
        return JSON.object(members.filter { !ChangeVersions.hashes.contains($0.name) }).text
    }
}
