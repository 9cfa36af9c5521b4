import Daemon
import Glibc
import HTTP
import TestSupport
import Testing

@Suite(.enabled(if: TLSPeer.isAvailable, "skipped: there is no openssl")) struct ServerTLSTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    private func server(
        _ pair: TLSPeer.Pair, _ handler: TestHandler = TestHandler(),
        _ adjust: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) throws -> TestServer {
        let identity = try TLSIdentity(certificate: pair.certificate, key: pair.key)
        return try TestServer(handler) { configuration in
            configuration.identity = identity
            adjust(&configuration)
        }
    }

    @Test(arguments: [
        ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], ["ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"],
        ["rsa:2048"],
    ])
    func `a request is answered under TLS`(key: [String]) throws {
        let server = try server(try TLSPeer.Pair("first", key))
        let peer = try TLSPeer(port: server.port)
        peer.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
        let text = peer.readAll()
        #expect(text.contains("CN = first"))
        #expect(Answer.statuses(in: text) == [200])
        #expect(text.contains("\r\n\r\nhello"))
    }

    @Test(arguments: [("-tls1_3", true), ("-tls1_2", true), ("-tls1_1", false), ("-tls1", false)])
    func `only TLS 1-2 and newer are spoken`(version: String, isSpoken: Bool) throws {
        let server = try server(try TLSPeer.Pair("first"))
        // At its lowest level openssl would speak the old versions itself.
        let peer = try TLSPeer(port: server.port, [version, "-cipher", "ALL:@SECLEVEL=0"])
        peer.send(get)
        #expect(Answer.statuses(in: peer.readAll()) == (isSpoken ? [200] : []))
    }

    @Test(arguments: [
        ("ECDHE-RSA-AES128-GCM-SHA256", true), ("ECDHE-RSA-CHACHA20-POLY1305", true), ("AES128-GCM-SHA256", false),
        ("ECDHE-RSA-AES128-SHA", false), ("DHE-RSA-AES128-GCM-SHA256", false),
    ])
    func `ciphers without forward secrecy or authenticated encryption are refused`(cipher: String, isSpoken: Bool)
        throws
    {
        let server = try server(try TLSPeer.Pair("first", ["rsa:2048"]))
        let peer = try TLSPeer(port: server.port, ["-tls1_2", "-cipher", cipher])
        peer.send(get)
        #expect(Answer.statuses(in: peer.readAll()) == (isSpoken ? [200] : []))
    }

    @Test func `a new certificate is shown to new connections, and a request in flight survives`() throws {
        let (first, second) = (try TLSPeer.Pair("first"), try TLSPeer.Pair("second"))
        let waiting = Waiting()
        let server = try server(first, waiting.handler)
        let handled = try TLSPeer(port: server.port)
        handled.send(get)
        let responders = try #require(waiting.take(1))
        let sending = try TLSPeer(port: server.port)
        sending.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhello")
        #expect(sending.read(until: "CN = first").contains("CN = first"))

        server.server.replaceIdentity(try TLSIdentity(certificate: second.certificate, key: second.key))

        let late = try TLSPeer(port: server.port)
        late.send(get)
        sending.send("world")
        let further = try #require(waiting.take(2))
        (responders + further).forEach { $0.respond(HTTPResponse(status: 200)) }
        let text = late.readAll()
        #expect(text.contains("CN = second"))
        #expect(!text.contains("CN = first"))
        #expect(Answer.statuses(in: text) == [200])
        #expect(Answer.statuses(in: handled.readAll()) == [200])
        #expect(Answer.statuses(in: sending.readAll()) == [200])
    }

    @Test func `many connections survive certificates that change all the time`() throws {
        let pairs = [try TLSPeer.Pair("first"), try TLSPeer.Pair("second")]
        let server = try server(pairs[0])
        let (replaced, isOver) = (server.server, Monitor(false))
        let changing = ServiceThread("changing") {
            var turn = 0
            while !isOver.read({ $0 }) {
                turn += 1
                let pair = pairs[turn % 2]
                guard let identity = try? TLSIdentity(certificate: pair.certificate, key: pair.key) else { return }
                replaced.replaceIdentity(identity)
            }
        }
        defer {
            isOver.change { $0 = true }
            changing.join()
        }
        for _ in 0..<5 {
            let peers = try (0..<8).map { _ in try TLSPeer(port: server.port) }
            peers.forEach { $0.send(get) }
            #expect(peers.allSatisfy { Answer.statuses(in: $0.readAll()) == [200] })
        }
    }

    @Test func `a certificate does not turn TLS on later`() throws {
        let server = try TestServer()
        let pair = try TLSPeer.Pair("first")
        server.server.replaceIdentity(try TLSIdentity(certificate: pair.certificate, key: pair.key))
        let client = server.client()
        client.send(get)
        #expect(client.answer()?.status == 200)
    }

    @Test func `what is not TLS gets no answer in plain text`() throws {
        let server = try server(try TLSPeer.Pair("first"))
        let client = server.client()
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n")
        let (text, end) = client.receiveAll()
        #expect(!text.contains("HTTP/1."))
        #expect(end == .closed)
    }

    @Test(arguments: ["", "\u{16}\u{03}\u{01}\u{02}"])
    func `a handshake that does not go on is cut`(start: String) throws {
        let server = try server(try TLSPeer.Pair("first")) { $0.headerTimeout = .milliseconds(300) }
        let client = server.client()
        client.send(start)
        let (_, end) = client.receiveAll()
        #expect(end == .closed)
    }

    @Test func `a head that drips under TLS is cut`() throws {
        let server = try server(try TLSPeer.Pair("first")) { $0.headerTimeout = .milliseconds(500) }
        let peer = try TLSPeer(port: server.port)
        peer.send("GET / HTTP/1.1\r\nHost: a\r\n")
        #expect(Answer.statuses(in: peer.readAll()).isEmpty)
        // The counter follows the cut.
        try eventually("it is counted") {
            server.metrics.exposition().contains("entitled_http_timeouts_total{role=\"test\"} 1")
        }
    }

    @Test func `chunks beyond the limit are answered 413 within TLS`() throws {
        let server = try server(try TLSPeer.Pair("first")) { $0.maxBodyBytes = 1024 }
        let peer = try TLSPeer(port: server.port)
        peer.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.send("800\r\n\(String(repeating: "x", count: 2048))\r\n")
        #expect(Answer.statuses(in: peer.readAll()) == [413])
    }

    @Test func `the guard refuses under TLS what it refuses without`() throws {
        let server = try server(try TLSPeer.Pair("first"))
        let peer = try TLSPeer(port: server.port)
        peer.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
        #expect(Answer.statuses(in: peer.readAll()) == [400])
    }

    @Test func `draining answers what is in flight under TLS`() throws {
        let waiting = Waiting()
        let server = try server(try TLSPeer.Pair("first"), waiting.handler)
        let peer = try TLSPeer(port: server.port)
        peer.send(get)
        let responders = try #require(waiting.take(1))
        let drained = server.server
        let draining = ServiceThread("drain") { drained.drain(until: .now + .seconds(10)) }
        #expect(!draining.join(timeout: .milliseconds(100)))
        responders.first?.respond(HTTPResponse(status: 200))
        #expect(Answer.statuses(in: peer.readAll()) == [200])
        #expect(draining.join(timeout: .seconds(5)))
    }
}

@Suite(.enabled(if: TLSPeer.isAvailable, "skipped: there is no openssl")) struct TLSIdentityTests {
    @Test func `a certificate tells when it ends`() throws {
        let pair = try TLSPeer.Pair("first")
        let identity = try TLSIdentity(certificate: pair.certificate, key: pair.key)
        let days = Double(identity.notAfter) / 1000 / 86400 - Double(time(nil)) / 86400
        #expect((1.9...2.1).contains(days))
    }

    @Test func `a key of another certificate is refused`() throws {
        let (first, second) = (try TLSPeer.Pair("first"), try TLSPeer.Pair("second"))
        #expect(throws: TLSIdentityError.mismatch) {
            try TLSIdentity(certificate: first.certificate, key: second.key)
        }
    }

    @Test(arguments: ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func `what is no certificate or no key is refused as such`(text: String) throws {
        let pair = try TLSPeer.Pair("first")
        let wrong = Array(text.utf8)
        #expect {
            try TLSIdentity(certificate: wrong, key: pair.key)
        } throws: { error in
            if case .certificate? = error as? TLSIdentityError { true } else { false }
        }
        #expect {
            try TLSIdentity(certificate: pair.certificate, key: wrong)
        } throws: { error in
            if case .key? = error as? TLSIdentityError { true } else { false }
        }
    }
}
