import Base
import HTTP

/// What sellers change.
extension StoreEndpoints {
    func extend(_ originalID: String, _ request: StoreRequest, _ state: inout StoreState) throws -> JSON {
        let (days, _) = try extensionOf(request.body)
        _ = try state.ledger.customer(of: originalID)
        let (ends, period) = try state.ledger.extend(originalID, days: days, at: now)
        let made = state.ledger.notification(
            "RENEWAL_EXTENDED", nil, about: originalID, uuid: state.random.uuid(), at: now)
        if let made { _ = state.admit(made, at: now) }
        return .object([
            "originalTransactionId": .string(originalID),
            "webOrderLineItemId": .text(period.text("webOrderLineItemId")),
            "success": .bool(true), "effectiveDate": .int(ends),
        ])
    }

    /// Apple carries it out later; the same request identifier again changes nothing.
    func extendAll(_ request: StoreRequest, _ state: inout StoreState) throws -> JSON {
        let (days, identifier) = try extensionOf(request.body)
        guard let product = request.body?["productId"]?.stringValue, !product.isEmpty else {
            throw StoreRejection(4_000_023)
        }
        let storefronts = request.body?["storefrontCountryCodes"]?.arrayValue.map { $0.compactMap(\.stringValue) }
        guard storefronts?.isEmpty != true else { throw StoreRejection(4_000_027) }
        if !state.massExtensions.contains(where: { $0.product == product && $0.identifier == identifier }) {
            state.massExtensions.append(
                MassExtension(
                    product: product, identifier: identifier, days: days, storefronts: storefronts ?? [],
                    due: now &+ MassExtension.delay))
        }
        return .object(["requestIdentifier": .string(identifier)])
    }

    func massExtension(_ product: String, _ identifier: String, _ state: StoreState) throws -> JSON {
        guard
            let found = state.massExtensions.first(where: { $0.product == product && $0.identifier == identifier })
        else { throw StoreRejection(4_040_009) }
        return found.json
    }

    private func extensionOf(_ body: JSON?) throws(StoreRejection) -> (days: Int64, identifier: String) {
        guard let days = body?["extendByDays"]?.intValue, (1...90).contains(days) else {
            throw StoreRejection(4_000_009)
        }
        guard let reason = body?["extendReasonCode"]?.intValue, (0...3).contains(reason) else {
            throw StoreRejection(4_000_010)
        }
        guard let identifier = body?["requestIdentifier"]?.stringValue, (1...128).contains(identifier.utf8.count) else {
            throw StoreRejection(4_000_011)
        }
        return (days, identifier)
    }

    func setToken(_ originalID: String, _ request: StoreRequest, _ state: inout StoreState) throws -> HTTPResponse {
        guard let token = request.body?["appAccountToken"]?.stringValue, StoreEndpoints.isUUID(token) else {
            throw StoreRejection(4_000_183)
        }
        try state.ledger.setToken(token.lowercased(), of: originalID, at: now)
        return HTTPResponse(status: 200)
    }

    /// Both versions of Send Consumption Information.
    func consume(
        _ id: String, _ version: String, _ request: StoreRequest, _ state: inout StoreState
    ) throws -> HTTPResponse? {
        guard version == "v1" || version == "v2" else { return nil }
        _ = try transaction(id, state)
        let body = request.body ?? .null
        guard body["customerConsented"]?.boolValue == true else { throw StoreRejection(4_000_035) }
        if version == "v2" {
            let allowed = ["", "QUALITY_ISSUE", "WRONG_ITEM", "SERVER_OUTAGE", "OTHER"].map {
                $0.isEmpty ? "DELIVERED" : "UNDELIVERED_\($0)"
            }
            guard let delivery = body["deliveryStatus"]?.stringValue, allowed.contains(delivery) else {
                throw StoreRejection(4_000_036)
            }
            guard body["sampleContentProvided"]?.boolValue != nil else { throw StoreRejection(4_000_041) }
        }
        state.consumption[id] = body
        return HTTPResponse(status: 202)
    }

    private static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
    }
}
