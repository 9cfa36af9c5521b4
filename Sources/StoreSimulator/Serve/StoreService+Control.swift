import Base
import Daemon
import HTTP

/// What a test does with the store while it runs. Needs no token: only this host reaches it.
extension StoreService {
    /// `GET /control/customers`, `GET /control/calls`, `GET /control/notifications`, `POST /control/faults`,
    /// `DELETE /control/faults`, `POST /control/lost` with `{"percent":30}`, `POST /control/calls/clear`.
    func control(_ request: HTTPRequest, _ state: inout StoreState, _ now: Int64) -> HTTPResponse {
        let body = (try? JSON(parsing: request.body)) ?? .null
        switch (request.head.method, request.head.path) {
        case ("GET", "/control/customers"): return .json(200, StoreService.customers(state))
        case ("GET", "/control/calls"): return .json(200, .object(["calls": .array(state.calls.map(\.json))]))
        case ("POST", "/control/calls/clear"): state.forgetCalls()
        case ("GET", "/control/notifications"): return .json(200, StoreService.notifications(state))
        case ("POST", "/control/faults"):
            guard let fault = StoreFault(body) else { return HTTPResponse(status: 400) }
            state.faults.add(fault, at: now)
        case ("DELETE", "/control/faults"): state.faults.clear()
        case ("POST", "/control/lost"):
            guard let percent = body["percent"]?.intValue, (0...100).contains(percent) else {
                return HTTPResponse(status: 400)
            }
            state.lost = Int(percent)
        default: return HTTPResponse(status: 404)
        }
        return HTTPResponse(status: 204)
    }

    package func add(_ fault: StoreFault) {
        state.change { $0.faults.add(fault, at: SystemClock().now()) }
    }

    /// Requests of the Server API so far.
    package var callCount: Int { state.read { $0.calls.count } }

    package func clearFaults() {
        state.change { $0.faults.clear() }
    }

    /// Those to begin with; a demonstration needs few.
    private static let listed = 100

    private static func customers(_ state: StoreState) -> JSON {
        let customers = state.ledger.customers.prefix(listed).map { customer in
            let purchases = state.ledger.purchases(of: customer)
            var seen: Set<String> = []
            return JSON.object([
                "app_transaction_id": .string(customer),
                "original_transaction_ids": .strings(
                    state.ledger.subscriptions(of: customer).map(\.originalID)),
                // Also of what is no subscription.
                "purchase_ids": .strings(purchases.map(\.originalID).filter { seen.insert($0).inserted }),
                "transaction_ids": .strings(purchases.map(\.id)),
                "order_ids": .strings(purchases.map { StoreLedger.orderID(of: $0.id) }),
            ])
        }
        return .object(["customers": .array(customers)])
    }

    private static func notifications(_ state: StoreState) -> JSON {
        let items = state.history.map { entry in
            JSON.object([
                "uuid": .string(entry.letter.notification.uuid), "type": .string(entry.letter.notification.name),
                "signed_ms": .int(entry.letter.notification.signedDate), "lost": .bool(entry.isLost),
                "delivered": .bool(entry.isDelivered), "attempts": .strings(entry.attempts.map(\.result)),
            ])
        }
        return .object(["notifications": .array(items)])
    }
}
