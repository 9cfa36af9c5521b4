import Accounts
import Base
import Crypto
import Database
import TestSupport
import Testing

@testable import Console

private let password = "correct horse battery"

@Suite("Log-in to the console")
struct LoginTests {
    @Test("a link opens one session, once, and only its button uses it up; then a password is set")
    func logsInByLink() throws {
        let console = try RunningConsole()
        try console.addUser("anna")
        let browser = TestBrowser(console)
        #expect(browser.open("/console/").text.contains("Log in to entitled"))
        let link = try console.link(for: "anna")
        // Whatever looks at links in mails changes nothing.
        for _ in 0..<2 { #expect(TestBrowser(console).open(link).status == 200) }
        #expect(browser.open(link).text.contains("anna"))
        let before = browser.cookie
        #expect(try browser.submit(link).text.contains("Set a password"))
        #expect(browser.cookie != before)
        #expect(TestBrowser(console).open(link).status == 404)
        #expect(
            try browser.submit("/console/me/password", ["password": "short", "again": "short"]).text
                .contains("fewer than 12 characters"))
        #expect(
            try browser.submit("/console/me/password", ["password": password, "again": password + "x"]).text
                .contains("differ"))
        let linkCookie = browser.cookie
        #expect(
            try browser.submit("/console/me/password", ["password": password, "again": password]).text
                .contains("Change the password"))
        #expect(browser.cookie != linkCookie)
        let other = TestBrowser(console)
        other.open("/console/login")
        #expect(try other.submit("/console/login", ["name": "anna", "password": password]).text.contains("Overview"))
        // A session by password needs the one before.
        other.open("/console/me")
        #expect(
            try other.submit(
                "/console/me/password", ["current": "wrong", "password": password, "again": password]
            ).text.contains("is another one"))
    }

    @Test("pages show times in the operator's zone, which is one that this host knows")
    func setsZone() throws {
        let console = try RunningConsole()
        try console.addUser("anna")
        let browser = TestBrowser(console)
        let link = try console.link(for: "anna")
        browser.open(link)
        #expect(try browser.submit(link).text.contains(" UTC</small></time>"))
        let page = try browser.submit("/console/me/zone", ["zone": "Asia/Kathmandu"]).text
        #expect(page.contains(" +0545</small></time>") && !page.contains(" UTC</small></time>"))
        #expect(page.contains("<option selected>Asia/Kathmandu"))
        #expect(page.utf8.count < 60_000)
        for zone in ["Nowhere/Land", "../passwd", "", "right/Europe/Vienna"] {
            let refused = try browser.submit("/console/me/zone", ["zone": zone])
            #expect(refused.status == 400 && refused.text.contains("knows no such time zone"))
        }
        #expect(browser.open("/console/me").text.contains(" +0545</small></time>"))
        // A name of a host with another database, as a restored row may have it.
        try console.onHost { try PasswordTable.setZone("Nowhere/Land", of: "anna", on: $0) }
        #expect(browser.open("/console/me").text.contains(" UTC</small></time>"))
        #expect(try browser.submit("/console/me/zone", ["zone": "UTC"]).text.contains("<option selected>UTC"))
    }

    @Test("links end after a quarter of an hour, with the next link, and with the user")
    func endsLinks() throws {
        let console = try RunningConsole()
        try console.addUser("anna")
        let first = try console.link(for: "anna")
        let second = try console.link(for: "anna")
        #expect(TestBrowser(console).open(first).status == 404)
        #expect(TestBrowser(console).open(second).status == 200)
        console.clock.advance(by: .seconds(15 * 60))
        #expect(TestBrowser(console).open(second).status == 404)
        let third = try console.link(for: "anna")
        _ = try console.onHost { try ConsoleUserTable.remove("anna", now: console.clock.now(), on: $0) }
        #expect(TestBrowser(console).open(third).status == 404)
        console.clock.advance(by: .seconds(1))
        try console.addUser("anna")
        #expect(TestBrowser(console).open(third).status == 404)
        #expect(TestBrowser(console).open("/console/link/nonsense").status == 404)
    }

    @Test("after five failures attempts wait, twice as long each time; then the right password works")
    func throttles() throws {
        let console = try RunningConsole()
        try console.addUser("anna", password: password)
        let running = TestBrowser(console)
        running.open("/console/login")
        try running.submit("/console/login", ["name": "anna", "password": password])
        let browser = TestBrowser(console)
        browser.open("/console/login")
        for _ in 0..<5 {
            let answer = try browser.submit("/console/login", ["name": "anna", "password": "wrong"])
            #expect(answer.status == 403)
            #expect(answer.text.contains("The name or the password is wrong"))
        }
        let waiting = try browser.submit("/console/login", ["name": "anna", "password": password])
        #expect(waiting.status == 429)
        #expect(waiting.header("retry-after") == "2")
        #expect(running.open("/console/").text.contains("Overview"))
        console.clock.advance(by: .milliseconds(2001))
        #expect(try browser.submit("/console/login", ["name": "anna", "password": password]).text.contains("Overview"))
        #expect(LoginTryTable.pause(after: 4, atMost: 900_000) == 0)
        #expect(LoginTryTable.pause(after: 6, atMost: 900_000) == 4000)
        #expect(LoginTryTable.pause(after: 40, atMost: 900_000) == 900_000)
    }

    @Test("sessions end when they are idle, when they are old, and when they are ended")
    func endsSessions() throws {
        let console = try RunningConsole()
        try console.addUser("anna")
        func logIn() throws -> TestBrowser {
            let browser = TestBrowser(console)
            let link = try console.link(for: "anna")
            browser.open(link)
            try browser.submit(link)
            return browser
        }
        let idle = try logIn()
        console.clock.advance(by: .seconds(1799))
        #expect(idle.open("/console/me").text.contains("Sessions"))
        console.clock.advance(by: .seconds(1861))
        #expect(idle.open("/console/me").text.contains("Log in to entitled"))
        let old = try logIn()
        for _ in 0..<24 {
            console.clock.advance(by: .seconds(1790))
            #expect(old.open("/console/me").text.contains("Sessions"))
        }
        console.clock.advance(by: .seconds(300))
        #expect(old.open("/console/me").text.contains("Log in to entitled"))

        let (one, two) = (try logIn(), try logIn())
        one.open("/console/me")
        #expect(try one.submit("/console/me/sessions").status == 200)
        #expect(two.open("/console/me").text.contains("Log in to entitled"))
        let cookie = one.cookie
        #expect(try one.submit("/console/logout").text.contains("Log in to entitled"))
        let thief = TestBrowser(console)
        #expect(thief.send("GET", "/console/me", headers: ["Cookie": cookie ?? ""]).status == 303)

        let revoked = try logIn()
        _ = try console.onHost { try SessionTable.end(nil, of: "anna", now: console.clock.now(), on: $0) }
        #expect(revoked.open("/console/me").text.contains("Log in to entitled"))
        let removed = try logIn()
        _ = try console.onHost { try ConsoleUserTable.remove("anna", now: console.clock.now(), on: $0) }
        #expect(removed.open("/console/me").text.contains("There is no operator yet"))
        #expect(!console.log.text.contains(cookie ?? "none"))
    }

    @Test("a log-in leads back to the page that was asked for, and to no other server")
    func leadsBack() throws {
        let console = try RunningConsole()
        try console.addUser("anna", password: password)
        let browser = TestBrowser(console)
        browser.open("/console/me?a=b%26c")
        #expect(browser.page?.text.contains(#"name="to" value="/console/me?a=b%26c""#) == true)
        #expect(try browser.submit("/console/login", ["name": "anna", "password": password]).text.contains("Sessions"))
        for target in ["https://evil.example/", "//evil.example/console", "/other", "javascript:alert(1)"] {
            #expect(ConsolePath.reading(target) == nil)
        }
    }
}

@Suite("Password hashes")
struct PasswordHashTests {
    @Test("scrypt is that of RFC 7914")
    func derivesAsSpecified() throws {
        let derived = Scrypt.derive(
            Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8), .init(logN: 14, r: 8, p: 1), count: 64)
        #expect(
            derived.map(Hex.encode)
                == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
        )
        #expect(
            Scrypt.derive([], salt: [], .init(logN: 4, r: 1, p: 1), count: 64).map { Hex.encode($0.prefix(4)) }
                == "77d65762")
        #expect(Scrypt.derive([1], salt: [1], .init(logN: 20, r: 8, p: 1), count: 32) == nil)
    }

    @Test("a hash is of its password alone, is another one each time, and survives being written")
    func checksPasswords() throws {
        let cheap = Scrypt.Cost(logN: 4, r: 8, p: 1)
        let hash = try #require(PasswordHash(of: Redacted("päss\u{0}word"), cost: cheap))
        let read = try #require(PasswordHash(hash.text))
        #expect(read == hash)
        #expect(read.isOf(Redacted("päss\u{0}word")))
        #expect(!read.isOf(Redacted("päss")))
        #expect(!read.isOf(Redacted("")))
        #expect(!read.isCurrent)
        #expect(
            PasswordHash(of: Redacted("x"), cost: cheap) != PasswordHash(of: Redacted("x"), cost: cheap))
        for text in ["", "scrypt$15$8$3$$", "bcrypt$15$8$3$AA$AA", "scrypt$a$8$3$AA$AA"] {
            #expect(PasswordHash(text) == nil)
        }
    }
}
