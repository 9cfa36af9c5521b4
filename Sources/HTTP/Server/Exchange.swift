import CMicrohttpd
import Glibc
import Synchronization

/// What libmicrohttpd calls in the course of a request, on the thread that owns the connection.
extension HTTPConnection {
    /// More than this is reserved for a body only once that much of it has come.
    private static let reservedAtFirst = 65536

    /// The request line is complete; `target` is as it was received.
    func begin(target: UnsafePointer<CChar>?) {
        let length = target.map { strlen($0) } ?? 0
        let bytes = UnsafeRawPointer(target)?.assumingMemoryBound(to: UInt8.self)
        exchange.target = RequestGuard.Target(UnsafeBufferPointer(start: bytes, count: length))
        enter(.head, within: core.configuration.headerTimeout)
    }

    /// The header fields are complete, then for each part of the body, then without a part at its end.
    func proceed(
        _ connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        part: UnsafePointer<CChar>?, size: UnsafeMutablePointer<Int>
    ) -> MHD_Result {
        switch exchange.stage {
        case .head:
            return receiveHead(connection, method, version)
        case .body where size.pointee > 0:
            return receive(part, size, connection)
        case .body:
            return finish(connection)
        case .answering:
            return sendAnswer(connection)
        }
    }

    private func receiveHead(
        _ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        core.requests.wrappingAdd(1, ordering: .relaxed)
        guard let target = exchange.target else { return .NO }
        let head: HTTPRequestHead
        let framing: RequestGuard.Framing
        do throws(RequestGuard.Rejection) {
            (head, framing) = try RequestGuard.read(connection, method: method, version: version, target: target)
        } catch {
            core.refusals.wrappingAdd(1, ordering: .relaxed)
            return sendEarly(.error(error.status, code: "bad_request", message: error.message), connection)
        }
        if core.isStopping.load(ordering: .sequentiallyConsistent) {
            return sendEarly(.unavailable("The server is shutting down."), connection)
        }
        exchange.stage = .body
        let serving = core.current
        exchange.serving = serving
        if let refusal = serving.handler.refuse(head) {
            guard framing == .none || framing == .length(0) else { return sendEarly(refusal, connection) }
            // Without a body the connection can be used again, if the answer waits for the end of the request.
            exchange.refusal = refusal
            return .YES
        }
        if let refusal = reject(head, framing) {
            return sendEarly(refusal, connection)
        }
        exchange.head = head
        exchange.isChunked = framing == .chunked
        if case .length(let length) = framing {
            exchange.expected = length
            exchange.body.reserveCapacity(min(length, HTTPConnection.reservedAtFirst))
        }
        if framing != .none {
            enter(.body, within: core.configuration.bodyTimeout)
        }
        return .YES
    }

    private func reject(_ head: HTTPRequestHead, _ framing: RequestGuard.Framing) -> HTTPResponse? {
        let carriesBody = head.method == "POST" || head.method == "PUT" || head.method == "PATCH"
        if framing == .none, carriesBody, core.configuration.needsLength {
            return .error(411, code: "length_required", message: "The request needs a Content-Length.")
        }
        if case .length(let length) = framing, length > core.configuration.maxBodyBytes {
            return tooLarge
        }
        return nil
    }

    private var tooLarge: HTTPResponse {
        .error(
            413, code: "body_too_large",
            message: "The body may have at most \(core.configuration.maxBodyBytes) bytes.")
    }

    private func receive(
        _ part: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>, _ connection: OpaquePointer
    ) -> MHD_Result {
        let count = size.pointee
        guard count <= core.configuration.maxBodyBytes - exchange.body.count else {
            sendDirectly(tooLarge.closingMessage, on: connection)
            return .NO
        }
        let share = exchange.share ?? BodyShare(core)
        exchange.share = share
        guard share.take(count) else {
            sendDirectly(
                HTTPResponse.unavailable("Too many request bodies are being received at once.").closingMessage,
                on: connection)
            return .NO
        }
        if exchange.body.count + count > exchange.body.capacity {
            exchange.body.reserveCapacity(max(exchange.expected, 2 * (exchange.body.count + count)))
        }
        let bytes = UnsafeRawPointer(part)?.assumingMemoryBound(to: UInt8.self)
        exchange.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
        size.pointee = 0
        return .YES
    }

    private func finish(_ connection: OpaquePointer) -> MHD_Result {
        if let refusal = exchange.refusal {
            exchange.stage = .answering
            enter(.answering, within: core.configuration.bodyTimeout)
            return queue(refusal, connection)
        }
        guard let head = exchange.head else { return .NO }
        exchange.stage = .answering
        guard let serial = beginHandling() else {
            return queue(.unavailable("The server is shutting down."), connection)
        }
        let request = HTTPRequest(head: head, body: exchange.body, remoteAddress: remoteAddress)
        exchange.body = []
        exchange.share = nil
        let responder = HTTPResponder { [self] response in answer(response, to: serial) }
        let serving = core.enter()
        defer { core.leave(serving) }
        // Another handler may take the place of the one that admitted the request while its body comes.
        if serving !== exchange.serving, let refusal = serving.handler.refuse(head) {
            responder.respond(refusal)
        } else {
            serving.handler.handle(request, responder)
        }
        exchange.serving = nil
        return sendAnswer(connection)
    }

    private func sendAnswer(_ connection: OpaquePointer) -> MHD_Result {
        guard let answer = takeAnswer(orSuspend: connection) else { return .YES }
        guard !answer.isReset else {
            reset()
            return .NO
        }
        return queue(answer, connection)
    }

    /// Answers before the request was read to its end; libmicrohttpd closes the connection afterwards.
    private func sendEarly(_ response: HTTPResponse, _ connection: OpaquePointer) -> MHD_Result {
        sendsEarly()
        return queue(response, connection, closes: true)
    }

    private func queue(_ response: HTTPResponse, _ connection: OpaquePointer, closes: Bool = false) -> MHD_Result {
        let made = response.body.withUnsafeBytes { body in
            MHD_create_response_from_buffer(
                body.count, UnsafeMutableRawPointer(mutating: body.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        for (name, value) in response.headers {
            MHD_add_response_header(made, name, value)
        }
        // After chunks: their lines are parsed too leniently to trust what follows them.
        if closes || exchange.isChunked || core.isLeaving.load(ordering: .relaxed) {
            MHD_add_response_header(made, "Connection", "close")
        }
        return MHD_queue_response(connection, UInt32(clamping: response.status), made)
    }
}
