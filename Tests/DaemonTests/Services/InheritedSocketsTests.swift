import Daemon
import Glibc
import Testing

@Suite struct InheritedSocketsTests {
    @Test(arguments: [
        [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_PID": "x", "LISTEN_FDS": "1"],
        ["LISTEN_PID": "\(getpid())"], ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "0"],
        ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "-1"], ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "many"],
    ])
    func `without sockets, or with those of another process, there are none`(environment: [String: String]) throws {
        #expect(try InheritedSockets(environment: environment).all.isEmpty)
        #expect(try InheritedSockets(environment: environment).assigned(to: ["ingest"]).isEmpty)
    }

    @Test func `more descriptors than anyone passes are refused before one is looked at`() {
        #expect(throws: InheritedSockets.Unusable.self) {
            try InheritedSockets(environment: ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "2000000000"])
        }
    }

    private func assigned(_ names: [String], to listeners: [String]) throws -> [String: Int32] {
        let sockets = names.enumerated().map { InheritedSockets.Socket(descriptor: Int32($0 + 3), name: $1) }
        return try InheritedSockets(sockets).assigned(to: listeners)
    }

    @Test func `a socket is the listener's that it names, and a single one the first listener's`() throws {
        for name in ["ingest", "ingest.socket", "entitled-ingest", "entitled-ingest.socket"] {
            #expect(try assigned(["admin", name], to: ["ingest", "admin"]) == ["admin": 3, "ingest": 4])
        }
        #expect(try assigned(["admin"], to: ["ingest", "admin"]) == ["admin": 3])
        for name in ["", "unknown", "connection"] {
            #expect(try assigned([name], to: ["api", "admin"]) == ["api": 3])
        }
    }

    @Test func `a socket of no listener, and two of one, are refused with a sentence`() {
        for names in [["ingest", "api"], ["", "ingest"], ["ingest", "entitled-ingest.socket"]] {
            #expect(throws: InheritedSockets.Unusable.self) { try assigned(names, to: ["ingest", "admin"]) }
        }
    }
}
