import Base
import Glibc

/// One request on a connection of its own to a server of this process or host, and its answer.
package struct HTTPCall: Sendable {
    package let status: Int
    /// Names in lower case.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as JSON, or `null`.
    package var json: JSON { (try? JSON(parsing: body)) ?? .null }

    package func header(_ name: String) -> String? {
        headers.first { $0.name == name.lowercased() }?.value
    }

    /// Status 0 where there is no whole answer.
    package static func send(
        _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = [], to port: UInt16
    ) -> HTTPCall {
        guard let descriptor = LoopbackSocket.connect(port) else {
            return HTTPCall(status: 0, headers: [], body: [])
        }
        defer { close(descriptor) }
        let host = headers["Host"] ?? "localhost"
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n"
        for (name, value) in headers where name != "Host" { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        LoopbackSocket.send(descriptor, Array((head + "\r\n").utf8) + body)
        var answer: [UInt8] = []
        while let byte = LoopbackSocket.receiveSome(descriptor) { answer += byte }
        return HTTPCall(answer)
    }

    private init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    private init(_ message: [UInt8]) {
        let end = Array("\r\n\r\n".utf8)
        let length = message.count
        guard let split = (0..<max(0, length - 3)).first(where: { message[$0..<($0 + 4)].elementsEqual(end) }) else {
            self.init(status: 0, headers: [], body: [])
            return
        }
        let lines = String(decoding: message[..<split], as: UTF8.self).split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (line[..<colon].lowercased(), String(value))
        }
        self.init(status: status, headers: headers, body: Array(message[(split + 4)...]))
    }
}
