import Accounts
import Base
import Daemon
import HTTP
import TestSupport
import Testing

@testable import Console

@Suite("Requests to the console")
struct RequestTests {
    @Test("a form counts only from a page of the same session and site")
    func refusesForgery() throws {
        let console = try RunningConsole()
        try console.addUser("anna")
        let link = try console.link(for: "anna")
        let browser = TestBrowser(console)
        browser.open(link)
        for headers in [
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
            ["Origin": "https://evil.example"],
            ["Sec-Fetch-Site": "", "Origin": "null"], ["Sec-Fetch-Site": "cross-site", "Origin": "null"],
            ["Sec-Fetch-Site": "", "Origin": ""],
        ] {
            let answer = try browser.submit(link, headers: headers)
            #expect(answer.status == 403, "\(headers)")
            browser.open(link)
        }
        // Without its token, or with one of another session.
        let sent = ["Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"]
        #expect(browser.send("POST", link, headers: sent).status == 403)
        let stranger = TestBrowser(console)
        stranger.open(link)
        let token = FormToken.make(
            ConsolePath.reading(link) ?? ConsolePath.home,
            cookie: String(stranger.cookie?.split(separator: "=").last ?? ""))
        #expect(browser.send("POST", link, headers: sent, body: "token=\(token)").status == 403)
        // A token of another form.
        let other = FormToken.make(ConsolePath.login, cookie: String(browser.cookie?.split(separator: "=").last ?? ""))
        #expect(browser.send("POST", link, headers: sent, body: "token=\(other)").status == 403)
        #expect(
            browser.send(
                "POST", link, headers: ["Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"], body: "{}"
            ).status == 415)
        #expect(browser.send("POST", link, headers: sent, body: "token=a&token=b").status == 400)
        // As browsers send it where the page tells no referrer.
        #expect(try browser.submit(link, headers: ["Origin": "null"]).text.contains("Set a password"))
        // Nothing changes by GET.
        #expect(browser.send("GET", "/console/logout").status == 405)
    }

    @Test("only the console's own host is answered, and every page has the headers that keep it to itself")
    func checksHost() throws {
        let console = try RunningConsole()
        for host in ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example"] {
            #expect(TestBrowser(console, host: host).open("/console/login").status == 421)
        }
        for host in ["127.0.0.1:\(console.port)", "localhost", "[::1]:1"] {
            #expect(TestBrowser(console, host: host).open("/console/login").status == 200)
        }
        for path in ["/console/login", "/console/me", "/console/none", "/console/link/x", StyleSheet.path.text] {
            let answer = TestBrowser(console).send("GET", path)
            let policy = try #require(answer.header("content-security-policy"), "\(path)")
            #expect(
                policy.hasPrefix(
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(answer.header("referrer-policy") == "no-referrer")
            #expect(answer.header("x-content-type-options") == "nosniff")
            #expect(answer.header("cross-origin-opener-policy") == "same-origin")
            #expect(
                answer.header("cache-control")
                    == (path == StyleSheet.path.text ? "public, max-age=31536000, immutable" : "no-store"))
            #expect(
                !answer.text.contains("<script") && !answer.text.contains(" style=") && !answer.text.contains("<style"))
        }
    }

    @Test("the cookie is this host's alone; over TLS it has the prefix that says so")
    func setsCookies() throws {
        let local = TestBrowser(try RunningConsole()).send("GET", "/console/login")
        let field = try #require(local.header("set-cookie"))
        #expect(field.hasPrefix("entitled-local="))
        #expect(field.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
        let address = try #require(ConsoleAddress("https://console.example.com"))
        let console = try RunningConsole(address)
        let remote = TestBrowser(console, host: "console.example.com").send("GET", "/console/login")
        #expect(remote.header("set-cookie")?.hasPrefix("__Host-entitled=") == true)
        #expect(remote.header("set-cookie")?.hasSuffix("; SameSite=Strict; Secure") == true)
        #expect(TestBrowser(console).send("GET", "/console/login").status == 421)
        for text in [
            "http://console.example.com", "https://", "https://a/b", "ftp://a", "console.example.com", "https://a b",
        ] {
            #expect(ConsoleAddress(text) == nil)
        }
    }

    @Test("a link followed from another site comes to its page, by one detour")
    func followsLinks() throws {
        let console = try RunningConsole()
        let followed = TestBrowser(console).send(
            "GET", "/console/me", headers: ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"])
        #expect(followed.status == 200)
        #expect(followed.text.contains(#"<meta http-equiv="refresh" content="0">"#))
        let again = TestBrowser(console).send(
            "GET", "/console/me", headers: ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"])
        #expect(again.status == 303)
    }

    @Test("pages answer HEAD, and 304 to a browser that has them")
    func savesBytes() throws {
        let console = try RunningConsole()
        let sheet = TestBrowser(console).send("HEAD", StyleSheet.path.text)
        #expect(sheet.status == 200)
        #expect(sheet.body.isEmpty)
        #expect(sheet.header("content-length") == String(StyleSheet.bytes.count))
        try console.addUser("anna")
        let browser = TestBrowser(console)
        let page = browser.open("/console/login")
        let tag = try #require(page.header("etag"))
        let again = browser.send("GET", "/console/login", headers: ["If-None-Match": "\"x\", \(tag)"])
        #expect(again.status == 304)
        #expect(again.body.isEmpty)
    }

    @Test("reports of browsers are counted, and logged once a minute")
    func countsReports() throws {
        let console = try RunningConsole()
        for _ in 0..<3 {
            let sent = TestBrowser(console).send(
                "POST", "/console/csp", headers: ["Content-Type": "application/csp-report"], body: #"{"csp-report":{}}"#
            )
            #expect(sent.status == 204)
        }
        #expect(
            TestBrowser(console).send("POST", "/console/csp", body: String(repeating: "x", count: 8193)).status == 413)
        #expect(console.metrics.exposition().contains("entitled_csp_reports_total 3"))
        #expect(console.log.text.split(separator: "console content blocked").count == 2)
    }
}

@Suite("Forms")
struct FormTests {
    @Test("fields are read as browsers write them; what two readers could read differently is refused")
    func readsForms() throws {
        let form = try Form(query: "a=1+2%203&b=%C3%A4&c=&d&=e")
        #expect(form["a"] == "1 2 3")
        #expect(form["b"] == "ä")
        #expect(form["c"] == "" && form["d"] == "" && form[""] == "e")
        #expect(throws: Form.Fault.duplicate("a")) { try Form(query: "a=1&b=2&%61=3") }
        #expect(throws: Form.Fault.malformed) { try Form(query: "a=%C3") }
        #expect(throws: Form.Fault.malformed) { try Form(query: "a=%x") }
        #expect(throws: Form.Fault.tooManyFields) {
            try Form(query: (0...200).map { "a\($0)=1" }.joined(separator: "&"))
        }
        #expect(throws: Form.Fault.tooLarge) { try Form(encoded: [UInt8](repeating: 0x61, count: (64 << 10) + 1)) }
        func request(_ type: String?) -> HTTPRequest {
            HTTPRequest(
                head: HTTPRequestHead(method: "POST", target: "/", headers: type.map { [("content-type", $0)] } ?? []),
                body: Array("a=1".utf8))
        }
        #expect(try Form(request("Application/X-WWW-Form-Urlencoded; charset=utf-8"))["a"] == "1")
        for type in ["application/json", "multipart/form-data; boundary=x", "text/plain", nil] {
            #expect(throws: Form.Fault.otherType) { try Form(request(type)) }
        }
    }

    @Test("a cookie that comes twice is none")
    func readsCookies() {
        func head(_ cookies: String...) -> HTTPRequestHead {
            HTTPRequestHead(method: "GET", target: "/", headers: cookies.map { ("cookie", $0) })
        }
        #expect(head("a=1; entitled-local=x=y; b=2").cookie("entitled-local") == "x=y")
        #expect(head("a=1").cookie("entitled-local") == nil)
        #expect(head("entitled-local=x; entitled-local=y").cookie("entitled-local") == nil)
        #expect(head("entitled-local=x", "entitled-local=y").cookie("entitled-local") == nil)
        #expect(head("xentitled-local=x").cookie("entitled-local") == nil)
    }
}
