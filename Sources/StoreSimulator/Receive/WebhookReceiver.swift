import Base

/// A webhook consumer that looks at what it gets and tells it.
package final class WebhookReceiver: Sendable {
    /// One request that was no control.
    package struct Delivery: Sendable, Equatable {
        package let id: String
        package let type: String
        package let product: String?
        package let user: String?
        package let environment: String?
        /// As the sender counts; nil if it does not.
        package let attempt: String?
        /// What is wrong with the signatures; nil if nothing is, or nothing was checked.
        package let fault: String?
        package let isChecked: Bool
        /// What it was answered.
        package let status: Int

        package var json: JSON {
            .object([
                "id": .string(id), "type": .string(type), "product_id": .text(product), "app_user_id": .text(user),
                "environment": .text(environment), "attempt": .text(attempt),
                "signature": .string(!isChecked ? "unchecked" : fault ?? "ok"), "status": .int(Int64(status)),
            ])
        }

        /// One line; what could move a terminal's cursor is left out.
        package var text: String {
            let signature = !isChecked ? "signature unchecked" : fault.map { "BAD SIGNATURE: \($0)" } ?? "signature ok"
            let parts = [
                type, product ?? "-", user ?? "-", environment ?? "-", "attempt \(attempt ?? "?")", signature,
                "→ \(status)",
            ]
            return String(
                String.UnicodeScalarView(
                    parts.joined(separator: "  ").unicodeScalars.filter { scalar in
                        scalar.properties.generalCategory != .control
                    }))
        }
    }

    package let address: HostAndPort
    private let listener: HTTPListener

    /// Without `signature` nothing is checked. A request whose signature is wrong gets 401. `POST /control` changes the
    /// script. `onDelivery` is called on many threads.
    package init(
        _ address: HostAndPort, signature: WebhookSignatureCheck?, script: AnswerScript,
        clock: any WallClock = SystemClock(),
        onDelivery: @escaping @Sendable (Delivery) -> Void
    ) throws {
        listener = try HTTPListener(address) { request in
            if request.path == "/control" {
                let isTaken = request.method == "POST" && script.control(request.body)
                return HTTPAnswer(status: isTaken ? 204 : 400, body: [])
            }
            guard request.method == "POST" else { return HTTPAnswer(status: 405, body: []) }
            let delivery = WebhookReceiver.look(at: request, signature, script, clock)
            onDelivery(delivery)
            return HTTPAnswer(status: delivery.status, body: [])
        }
        self.address = listener.address
    }

    package func stop() {
        listener.stop()
    }

    private static func look(
        at request: HTTPListener.Request, _ signature: WebhookSignatureCheck?, _ script: AnswerScript,
        _ clock: any WallClock
    ) -> Delivery {
        let event = (try? JSON(parsing: request.body))?["event"]
        let id = request.header("webhook-id")
        let fault = signature?.fault(
            id: id, time: request.header("webhook-timestamp"), standard: request.header("webhook-signature"),
            revenueCat: request.header("x-revenuecat-webhook-signature"), body: request.body, now: clock.now())
        return Delivery(
            id: id ?? "-", type: event?["type"]?.stringValue ?? "(no event)",
            product: event?["product_id"]?.stringValue, user: event?["app_user_id"]?.stringValue,
            environment: event?["environment"]?.stringValue, attempt: request.header("entitled-attempt"), fault: fault,
            isChecked: signature != nil, status: fault == nil ? script.answer(id ?? "") : 401)
    }
}
