import API
import Base
import Daemon
import Database
import HTTP
import Postgres
import Synchronization
import TestSupport
import Testing

/// What every route has from the listener: keys, paths, errors, waiting.
struct CoreTests {
    @Test func `health needs no key and has an empty text as its body`() throws {
        let api = try KeyedAPI()
        let answer = api.call("GET", "/v1/health", key: nil)
        #expect(answer.status == 200)
        #expect(answer.text == "\"\"\n")
        #expect(api.call("GET", "/healthz", key: nil).json["status"] == .string("ok"))
    }

    @Test(arguments: [nil, "", "appl_another", "sk_a_secret_key_for_test"])
    func `without a known key nothing is answered`(key: String?) throws {
        let answer = try KeyedAPI().call("GET", "/v1/subscribers/somebody", key: key)
        #expect(answer.status == 401)
        #expect(answer.text == #"{"code":7225,"message":"Invalid API Key."}"# + "\n")
    }

    @Test func `a secret key in an app is refused, and tells why`() throws {
        let answer = try KeyedAPI().call(
            "GET", "/v1/subscribers/somebody", key: KeyedAPI.secretKey,
            headers: ["X-Client-Bundle-ID": "com.example.app"])
        #expect(answer.status == 403)
        #expect(answer.json["code"] == .int(7243))
    }

    @Test func `where a secret key is needed a public one is refused`() throws {
        let api = try EngineFixture([
            APIRoute("POST", "/v1/secret", .secretKey(.write)) { _ in .response(.document(200, .object([]))) }
        ])
        #expect(api.call("POST", "/v1/secret").status == 403)
        #expect(api.call("POST", "/v1/secret", key: KeyedAPI.secretKey).status == 200)
    }

    @Test(arguments: ["/v1/nothing", "/v1/subscribers/", "/v1/subscribers/a/b", "/"])
    func `a path that nobody has is 404 with a code`(path: String) throws {
        let answer = try KeyedAPI().call("GET", path)
        #expect(answer.status == 404 || path == "/v1/subscribers/")
        #expect(answer.json["code"]?.intValue != nil)
    }

    @Test func `another method says which there are`() throws {
        let answer = try KeyedAPI().call("PATCH", "/v1/health", key: nil)
        #expect(answer.status == 405)
        #expect(answer.json["message"]?.stringValue?.contains("GET") == true)
    }

    @Test func `a path is decoded once, and a slash in an id divides nothing`() throws {
        let seen = Mutex<[String]>([])
        let api = try EngineFixture([
            APIRoute("GET", "/v1/echo/{id}", .anyKey) { call in
                let id = try call.parameter("id")
                seen.withLock { $0.append(id) }
                return .response(.document(200, .string(id)))
            }
        ])
        for (sent, read) in [("a%2Fb", "a/b"), ("%2524", "%24"), ("$RCAnonymousID%3Aabc", "$RCAnonymousID:abc")] {
            #expect(api.call("GET", "/v1/echo/\(sent)").json == .string(read))
        }
        #expect(api.call("GET", "/v1/echo/%zz").status == 400)
    }

    @Test func `the customer who is asked for is made`() throws {
        let api = try KeyedAPI()
        let first = api.call("GET", "/v1/subscribers/somebody")
        let second = api.call("GET", "/v1/subscribers/somebody")
        #expect(first.status == 201)
        #expect(second.status == 200)
        #expect(second.json["subscriber"]?["original_app_user_id"] == .string("somebody"))
    }

    @Test func `who waits for what is never applied is told to come again, and whoever is applied goes on`() throws {
        let subject = LogPosition(lane: Lane(number: 7), seq: 70)
        let route = APIRoute("POST", "/v1/wait", .anyKey) { _ in
            .whenApplied([subject]) { _ in .response(.document(200, .string("applied"))) }
        }
        let api = try EngineFixture([route], patience: .milliseconds(200))
        _ = try api.database.connect().query("INSERT INTO entitled.pending (lane, seq) VALUES (7, 70)")
        let late = api.call("POST", "/v1/wait")
        #expect(late.status == 503)
        #expect(late.header("retry-after") == "5")
        _ = try api.database.connect().query("DELETE FROM entitled.pending")
        #expect(api.call("POST", "/v1/wait").json == .string("applied"))
    }

    @Test func `what waits while another role takes over is answered as before`() throws {
        let subject = LogPosition(lane: Lane(number: 7), seq: 70)
        let isTaken = Monitor(false)
        let route = APIRoute("POST", "/v1/wait", .anyKey) { _ in
            isTaken.change { $0 = true }
            return .whenApplied([subject]) { _ in .response(.document(200, .string("applied"))) }
        }
        let api = try EngineFixture([route], patience: .seconds(10))
        _ = try api.database.connect().query("INSERT INTO entitled.pending (lane, seq) VALUES (7, 70)")
        let answer = Monitor<HTTPCall?>(nil)
        _ = ServiceThread("caller") {
            let call = api.call("POST", "/v1/wait")
            answer.change { $0 = call }
        }
        #expect(isTaken.wait(timeout: .seconds(10)) { $0 ? true : nil } == true)
        let isRetired = Monitor(false)
        _ = ServiceThread("retiring") {
            api.retire()
            isRetired.change { $0 = true }
        }
        #expect(answer.wait(timeout: .milliseconds(300)) { $0 } == nil)
        _ = try api.database.connect().query("DELETE FROM entitled.pending")
        #expect(answer.wait(timeout: .seconds(10)) { $0 }?.json == .string("applied"))
        #expect(isRetired.wait(timeout: .seconds(10)) { $0 ? true : nil } == true)
    }

    @Test func `a request that waits for nothing is answered at once, while nothing else is asked`() throws {
        let route = APIRoute("POST", "/v1/wait", .anyKey) { _ in
            .whenApplied([]) { _ in .response(.document(200, .string("applied"))) }
        }
        let api = try EngineFixture([route], patience: .seconds(60))
        #expect(api.call("POST", "/v1/wait").json == .string("applied"))
    }

    @Test func `work outside holds no connection`() throws {
        let route = APIRoute("POST", "/v1/outside", .anyKey) { _ in
            .outside {
                // With one thread for the database, this would wait for itself.
                { call in .response(.document(200, .int(try call.connection.query("SELECT 7").one().int(0)))) }
            }
        }
        #expect(try EngineFixture([route], threads: 1).call("POST", "/v1/outside").json == .int(7))
    }

    @Test func `an error that nobody foresaw is 500, and is in the log alone`() throws {
        struct Surprise: Error {}
        let api = try EngineFixture([APIRoute("GET", "/v1/oops", .anyKey) { _ in throw Surprise() }])
        let answer = api.call("GET", "/v1/oops")
        #expect(answer.status == 500)
        #expect(!answer.text.contains("Surprise"))
        try api.log.wait(for: "Surprise")
    }
}
