import Accounts
import Base
import Database
import HTTP
import Postgres
import TestSupport
import Testing

@testable import Console

private let header = "X-Forwarded-Email"
private let anna = "anna@example.com"

@Suite("Log-in by a proxy")
struct ProxyLoginTests {
    private static func proxy(
        from ranges: [String] = ["127.0.0.0/8"], secret: String? = nil, passwords: Bool = false
    ) -> ProxyLogin {
        ProxyLogin(from: ranges, header: header, secret: secret.map { Redacted($0) }, allowsPasswords: passwords)
    }

    @Test("the operator whom the proxy names has a session at once, on the page that was asked for")
    func begins() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy())
        try console.addUser(anna, .support)
        let browser = TestBrowser(console)
        let page = browser.open("/console/events?type=RENEWAL", headers: [header: anna])
        // The browser of these tests does not send the header again where it is led.
        #expect(page.status == 403)
        #expect(browser.cookie != nil)
        let first = browser.send("GET", "/console/events?type=RENEWAL", headers: [header: anna])
        #expect(first.status == 200)
        #expect(first.text.contains(anna))
        #expect(!first.headers.contains { $0.name == "set-cookie" })
        let me = browser.send("GET", "/console/me", headers: [header: anna])
        #expect(me.text.contains("logs you in") && !me.text.contains("name=\"again\""))
        #expect(try console.database.count("SELECT count(*) FROM entitled.console_session") == 1)
        #expect(console.log.text.contains("\"method\":\"proxy\""))

        let led = TestBrowser(console).send(
            "GET", "/console/events?type=RENEWAL", headers: [header: anna])
        #expect(led.status == 303)
        #expect(led.header("location") == "/console/events?type=RENEWAL")
    }

    @Test("a name without an operator, and no name at all, open nothing")
    func refusesOthers() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy())
        try console.addUser(anna)
        for name in ["ben@example.com", "Anna@example.com", "<script>alert(1)</script>", "anna", "a b"] {
            let answer = TestBrowser(console).send("GET", "/console/", headers: [header: name])
            #expect(answer.status == 403)
            #expect(answer.text.contains("No operator has this name"))
            #expect(!answer.text.contains("<script>"))
        }
        for path in ["/console/", "/console/login", "/console/link/x", "/console/customers"] {
            #expect(TestBrowser(console).send("GET", path).status == 403)
            #expect(TestBrowser(console).send("GET", path, headers: [header: ""]).status == 403)
        }
        // A cookie alone opens nothing either.
        let browser = TestBrowser(console)
        browser.open("/console/", headers: [header: anna])
        #expect(browser.send("GET", "/console/", headers: [header: anna]).status == 200)
        #expect(browser.send("GET", "/console/").status == 403)
        // A removed operator has no session any more, and gets none.
        _ = try console.onHost { try ConsoleUserTable.remove(anna, now: console.clock.now(), on: $0) }
        #expect(browser.send("GET", "/console/", headers: [header: anna]).status == 403)
        #expect(try console.database.count("SELECT count(*) FROM entitled.console_session") == 1)
    }

    @Test("when another person uses the browser, the session of the former one ends")
    func changesPerson() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy())
        try console.addUser(anna)
        try console.addUser("ben@example.com", .read)
        let browser = TestBrowser(console)
        browser.open("/console/", headers: [header: anna])
        let former = browser.cookie
        // A form of the former person's is not taken.
        browser.keep(page: browser.send("GET", "/console/me", headers: [header: anna]))
        #expect(try browser.submit("/console/logout", headers: [header: "ben@example.com"]).status == 403)
        browser.open("/console/me", headers: [header: "ben@example.com"])
        #expect(browser.cookie != former)
        let page = browser.send("GET", "/console/me", headers: [header: "ben@example.com"])
        #expect(page.text.contains("Role read"))
        #expect(
            try console.database.count(
                "SELECT count(*) FROM entitled.console_session WHERE user_name = '\(anna)' AND ended_ms IS NOT NULL")
                == 1)
    }

    @Test("the header is believed of the proxy's address alone, once, and with its secret")
    func believes() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy(from: ["192.0.2.0/24"]))
        try console.addUser(anna)
        let elsewhere = TestBrowser(console).send("GET", "/console/", headers: [header: anna])
        #expect(elsewhere.status == 400)
        #expect(elsewhere.text.contains("console.proxy.from"))

        let proxy = ProxyLoginTests.proxy(secret: "a secret of the proxy")
        func name(_ headers: [(String, String)], peer: String = "127.0.0.1") -> Result<String?, ProxyLogin.Refusal> {
            let head = HTTPRequestHead(
                method: "GET", target: "/console", headers: headers.map { (name: $0, value: $1) })
            return Result { () throws(ProxyLogin.Refusal) in try proxy.name(head, peer: peer) }
        }
        let right = ("x-entitled-proxy", "a secret of the proxy")
        #expect(name([(header, anna), right]) == .success(anna))
        #expect(name([("x-forwarded-email", anna), right], peer: "::ffff:127.0.0.1") == .success(anna))
        #expect(name([]) == .success(nil))
        #expect(name([right]) == .success(nil))
        #expect(name([(header, ""), right]) == .success(nil))
        #expect(name([(header, anna)]) == .failure(.otherSecret))
        #expect(name([(header, anna), ("X-Entitled-Proxy", "a secret of the prox")]) == .failure(.otherSecret))
        #expect(name([(header, anna), (header, anna), right]) == .failure(.repeated))
        #expect(name([(header, anna), right, right]) == .failure(.repeated))
        #expect(name([(header, anna), right], peer: "192.0.2.1") == .failure(.otherPeer))
        #expect(name([(header, anna), right], peer: "nonsense") == .failure(.otherPeer))
    }

    @Test("without a proxy's configuration the header is nothing")
    func isOff() throws {
        let console = try RunningConsole()
        try console.addUser(anna)
        let answer = TestBrowser(console).send("GET", "/console/", headers: [header: anna])
        #expect(answer.status == 303)
        #expect(answer.header("location") == "/console/login?to=%2Fconsole")
    }

    @Test("with console.proxy.passwords a request without a name logs in as ever")
    func allowsPasswords() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy(passwords: true))
        try console.addUser(anna)
        try console.addUser("ben", password: "correct horse battery")
        let browser = TestBrowser(console)
        browser.open("/console/login")
        #expect(
            try browser.submit("/console/login", ["name": "ben", "password": "correct horse battery"]).text
                .contains("Overview"))
        browser.open("/console/", headers: [header: anna])
        #expect(browser.send("GET", "/console/me").text.contains(anna))
    }

    @Test("a program without cookies has no more than fifty sessions that live")
    func endsOldOnes() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy())
        try console.addUser(anna)
        for _ in 0..<55 {
            #expect(TestBrowser(console).send("GET", "/console/", headers: [header: anna]).status == 303)
        }
        #expect(
            try console.database.count("SELECT count(*) FROM entitled.console_session WHERE ended_ms IS NULL") == 50)
        // What was ended takes no place of what was not in the list, and one command ends all the others.
        try console.database.execute(
            """
            INSERT INTO entitled.console_session (hash, id, user_name, address, browser, by_link, started_ms, seen_ms, ended_ms)
            SELECT sha256(n::text::bytea), 'ses_' || n, $1, 'a', 'b', false, $2, $2, $2 FROM generate_series(1, 300) n
            """, [.text(anna), .int8(console.clock.now() + 1000)])
        try console.onHost { connection in
            let listed = try SessionTable.list(of: anna, on: connection)
            #expect(listed.count == 200 && listed.count { $0.ended == nil } == 50)
            let kept = try #require(listed.last)
            #expect(
                try SessionTable.end(nil, of: anna, keeping: kept.id, now: console.clock.now(), on: connection) == 49)
        }
    }

    @Test("a log-out ends the session, and says that the proxy's goes on")
    func logsOut() throws {
        let console = try RunningConsole(proxyLogin: ProxyLoginTests.proxy())
        try console.addUser(anna)
        let browser = TestBrowser(console)
        browser.open("/console/", headers: [header: anna])
        browser.keep(page: browser.send("GET", "/console/me", headers: [header: anna]))
        let old = browser.cookie
        try browser.submit("/console/logout", headers: [header: anna])
        #expect(browser.cookie != old)
        #expect(browser.send("GET", "/console/login", headers: [header: anna]).text.contains("You are logged out"))
    }
}
