import Daemon
import Glibc

/// A name server (RFC 1035, UDP only) that answers as a test says, on port 53 of an address of loopback; needs root.
package final class NameServer: Sendable {
    package struct Question: Sendable, Hashable {
        /// In lower case, without a final dot; empty for the root.
        package let name: String
        package let type: UInt16

        /// Whether it asks for IPv4 addresses (type A).
        package var wantsIPv4: Bool { type == 1 }
        package var wantsIPv6: Bool { type == 28 }
    }

    package enum Answer: Sendable {
        /// Four or sixteen bytes each.
        case addresses([[UInt8]])
        case alias(String)
        /// The name exists, without what is asked for.
        case nothing
        case noSuchName
        case failure
        case silence
    }

    private struct State {
        var questions: [Question] = []
        var isDead = false
    }

    package let address: String
    private let socket: Int32
    private let state = Monitor(State())

    /// - Parameter answering: gets a question, and how often it was asked before.
    package init(_ answering: @escaping @Sendable (Question, Int) -> Answer) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // One that no other test uses at this moment.
        guard
            let last = (0..<20).lazy.map({ _ in UInt32.random(in: 0x4d_0002...0x4d_fffe) }).first(where: { last in
                NameServer.bind(socket, last)
            })
        else {
            close(socket)
            throw TestFailure("port 53 of loopback cannot be taken")
        }
        self.socket = socket
        address = "127.\(last >> 16).\(last >> 8 & 0xff).\(last & 0xff)"
        let state = state
        _ = ServiceThread("name-server") { NameServer.serve(socket, state, answering) }
    }

    private static func bind(_ socket: Int32, _ last: UInt32) -> Bool {
        var address = LoopbackSocket.address(53, last: last)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    package func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

    package var questions: [Question] { state.read { $0.questions } }

    /// Answers nothing any more, or again.
    package func setDead(_ isDead: Bool) { state.change { $0.isDead = isDead } }

    private static func serve(
        _ socket: Int32, _ state: Monitor<State>, _ answering: (Question, Int) -> Answer
    ) {
        defer { close(socket) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            var sender = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(socket, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard count > 0 else { return }
            guard let (question, end) = parse(Array(buffer.prefix(count))) else { continue }
            let (isDead, before) = state.change { state in
                defer { state.questions.append(question) }
                return (state.isDead, state.questions.count { $0 == question })
            }
            guard !isDead, let reply = reply(Array(buffer.prefix(end)), question, answering(question, before)) else {
                continue
            }
            _ = withUnsafePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(socket, reply, reply.count, 0, $0, length)
                }
            }
        }
    }

    /// The question, and where it ends.
    private static func parse(_ bytes: [UInt8]) -> (Question, Int)? {
        var (labels, position): ([String], Int) = ([], 12)
        while position < bytes.count, bytes[position] > 0 {
            let next = position + 1 + Int(bytes[position])
            guard next < bytes.count else { return nil }
            labels.append(String(decoding: bytes[position + 1..<next], as: UTF8.self).lowercased())
            position = next
        }
        guard position + 5 <= bytes.count else { return nil }
        let type = UInt16(bytes[position + 1]) << 8 | UInt16(bytes[position + 2])
        return (Question(name: labels.joined(separator: "."), type: type), position + 5)
    }

    private static func reply(_ query: [UInt8], _ question: Question, _ answer: Answer) -> [UInt8]? {
        var records: [[UInt8]] = []
        var code: UInt8 = 0
        switch answer {
        case .addresses(let addresses):
            let width = question.wantsIPv4 ? 4 : question.wantsIPv6 ? 16 : 0
            records = addresses.filter { $0.count == width }.map { record(question.type, $0) }
        case .alias(let name): records = [record(5, encoded(name))]
        case .nothing: break
        case .failure: code = 2
        case .noSuchName: code = 3
        case .silence: return nil
        }
        // An answer, recursion available; one question, so many answers.
        let head = Array(query[0..<2]) + [0x81, 0x80 | code, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0]
        return head + query[12...] + records.flatMap { $0 }
    }

    /// Named as the question is; good for a second.
    private static func record(_ type: UInt16, _ data: [UInt8]) -> [UInt8] {
        [0xc0, 12, UInt8(type >> 8), UInt8(type & 0xff), 0, 1, 0, 0, 0, 1, 0, UInt8(data.count)] + data
    }

    private static func encoded(_ name: String) -> [UInt8] {
        name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }
}
