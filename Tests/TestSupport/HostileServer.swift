import Base
import Daemon
import Glibc

/// A consumer that behaves as badly as the path tells it, on a port of 127.0.0.1; one thread a connection.
package final class HostileServer: Sendable {
    package struct Request: Sendable {
        /// Request line and header lines as they came.
        package let head: String
        package let body: [UInt8]
        package let connection: Int

        package var path: String { head.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    }

    private struct State {
        var requests: [Request] = []
        var connections = 0
        var sockets: Set<Int32> = []
        var stopped = false
        /// Bytes of endless bodies that the system took.
        var sent = 0
    }

    package let port: UInt16
    private let listener: Int32
    private let state = Monitor(State())

    package init() throws {
        guard let (listener, port) = LoopbackSocket.listen() else { throw Failure() }
        (self.listener, self.port) = (listener, port)
        _ = ServiceThread("hostile") { [self] in acceptAll() }
    }

    package struct Failure: Error {
        package init() {}
    }

    package func stop() {
        // With the state held: what is closed meanwhile may have its number again as a socket of another test.
        state.change { state in
            guard !state.stopped else { return }
            state.stopped = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    package var requests: [Request] { state.read { $0.requests } }
    package var connections: Int { state.read { $0.connections } }
    package var bytesSent: Int { state.read { $0.sent } }

    /// Open connections that programs would inherit if they were started now.
    package var inheritable: Int {
        state.read { $0.sockets.count { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 } }
    }

    /// Whether so many requests for the path came within the time.
    package func waitFor(_ count: Int, _ path: String, timeout: Duration = .seconds(20)) -> Bool {
        state.wait(timeout: timeout) { state in
            state.requests.count { $0.path == path } >= count ? true : nil
        } ?? false
    }

    private func acceptAll() {
        while true {
            let client = LoopbackSocket.accept(listener)
            guard client >= 0 else { break }
            let number = state.change { state in
                state.connections += 1
                state.sockets.insert(client)
                return state.stopped ? nil : state.connections
            }
            guard let number else {
                state.change { state in
                    state.sockets.remove(client)
                    close(client)
                }
                break
            }
            _ = ServiceThread("hostile-\(number)") { [self] in
                while let request = read(from: client, number) {
                    state.change { $0.requests.append(request) }
                    guard answer(request, client) else { break }
                }
                state.change { state in
                    state.sockets.remove(client)
                    close(client)
                }
            }
        }
        close(listener)
    }

    private func read(from client: Int32, _ number: Int) -> Request? {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let position = HostileServer.position(of: end, in: bytes) {
                let head = String(decoding: bytes[..<position], as: UTF8.self)
                let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                let length = line.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
                while bytes.count < position + 4 + length {
                    guard let more = receive(client) else { return nil }
                    bytes += more
                }
                return Request(head: head, body: Array(bytes[(position + 4)...].prefix(length)), connection: number)
            }
            guard let more = receive(client) else { return nil }
            bytes += more
        }
    }

    private func receive(_ client: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(client, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }

    private static func position(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (0...(bytes.count - pattern.count)).first { bytes[$0..<$0 + pattern.count].elementsEqual(pattern) }
    }

    /// Whether the connection goes on.
    private func answer(_ request: Request, _ client: Int32) -> Bool {
        let parts = request.path.split(separator: "/").map(String.init)
        switch parts.first {
        case "status": return send(client, HostileServer.response(parts.count > 1 ? parts[1] : "200"))
        case "retry":
            return send(client, HostileServer.response("503", "Retry-After:  7 \r\nWebhook-Delivery: abort\r\n"))
        case "date":
            let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            return send(client, HostileServer.response("200", date, String(repeating: "b", count: 20_000)))
        case "redirect": return send(client, HostileServer.response("302", "Location: \(url("/target"))\r\n"))
        case "close": return false
        case "reset":
            reset(client)
            return false
        case "reset-after-status":
            _ = send(client, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
            return false
        case "hang": return pause(client, .seconds(30))
        case "drip-headers": return drip("HTTP/1.1 200 OK\r\nx-drip: \(String(repeating: "a", count: 5000))", client)
        case "drip": return send(client, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n") && drip("x", client)
        case "huge": return flood(client, "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n", total: 64 << 20)
        case "endless": return flood(client, "HTTP/1.1 200 OK\r\n\r\n", total: .max)
        case "endless-headers": return flood(client, "HTTP/1.1 200 OK\r\n", total: .max, "x-header: yes, this too\r\n")
        case "continue": return flood(client, "", total: .max, "HTTP/1.1 100 Continue\r\n\r\n")
        case "exact": return send(client, HostileServer.response("200", "", String(repeating: "b", count: 16384)))
        case "interim":
            let interim = "HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n"
            return send(client, interim + HostileServer.response("200"))
        case "garbage":
            _ = send(client, "SSH-2.0-OpenSSH_9.2\r\n")
            return false
        case "non-ascii": return send(client, HostileServer.response("200", "Retry-After: \u{1b}[31m\u{fc}\r\n"))
        case "huge-headers":
            return flood(client, "HTTP/1.1 200 OK\r\n", total: 1_800_000, "x-header: yes, this too\r\n")
        case "endless-chunks":
            let chunk = "1000\r\n" + String(repeating: "c", count: 4096) + "\r\n"
            return flood(client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", total: .max, chunk)
        case "script":
            guard let script = HostileScript.all[parts.dropFirst().joined()] else { return false }
            guard send(client, script.bytes) == script.bytes.count else { return false }
            switch script.ending {
            case .goesOn: return true
            case .closes: return false
            case .resets:
                // Once the client has read it: resetting may discard what is under way.
                _ = pause(client, .milliseconds(100))
                reset(client)
                return false
            }
        default: return send(client, HostileServer.response("200"))
        }
    }

    private static func response(_ status: String, _ headers: String = "", _ body: String = "done") -> String {
        let length = status == "204" ? "" : "Content-Length: \(body.utf8.count)\r\n"
        return "HTTP/1.1 \(status) Word\r\n\(length)\(headers)\r\n\(status == "204" ? "" : body)"
    }

    private func send(_ client: Int32, _ text: String) -> Bool {
        send(client, Array(text.utf8)) == text.utf8.count
    }

    private func send(_ client: Int32, _ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    private func flood(_ client: Int32, _ start: String, total: Int, _ unit: String = "x") -> Bool {
        guard send(client, start) else { return false }
        let block = Array(String(repeating: unit, count: 65_536 / unit.utf8.count).utf8)
        var sent = 0
        while sent < total {
            let count = send(client, block)
            sent += count
            state.change { $0.sent += count }
            guard count == block.count else { return false }
        }
        return false
    }

    private func drip(_ text: String, _ client: Int32) -> Bool {
        for byte in text.utf8 {
            guard send(client, [byte]) == 1, pause(client, .milliseconds(50)) else { return false }
        }
        return pause(client, .seconds(30))
    }

    /// Waits, or until the other side closes; whether the server goes on.
    private func pause(_ client: Int32, _ duration: Duration) -> Bool {
        var watched = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, Int32(duration.milliseconds)) == 0 && !state.read { $0.stopped }
    }

    private func reset(_ client: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}
