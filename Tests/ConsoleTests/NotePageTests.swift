import Base
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Notes, previews, and what may be told to a customer, on the page of a customer.
@Suite("Notes and previews in the console") struct NotePageTests {
    private let console: RunningConsole

    init() throws {
        console = try RunningConsole()
        let records = Records(console: console)
        try records.buy("anna", "20001")
        try records.buy("ben", "20002")
    }

    private func browser(_ role: OperatorRole) throws -> TestBrowser { try Records(console: console).browser(role) }

    private func working<Result>(_ body: () throws -> Result) throws -> Result {
        try console.working(
            ChangeWork(entitlements: ["pro"], foldSettings: FoldSettings(), clock: console.clock), body)
    }

    @Test("a note is plain text, and its author alone is offered its removal")
    func notes() throws {
        let support = try browser(.support)
        #expect(support.open("/console/customers/anna").text.contains("No operator noted anything."))
        support.open("/console/changes/new/note?id=anna")
        let hostile = "<script>alert(1)</script>\nsecond line"
        try working {
            let done = try support.submit("/console/changes/new/note", ["text": hostile])
            #expect(done.text.contains("It is done."), "\(done.text)")
        }
        let page = support.open("/console/customers/anna").text
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\nsecond line"), "\(page)")
        #expect(page.contains("changes/new/note_remove?id=anna&amp;note=1"))
        let other = try browser(.operator)
        #expect(!other.open("/console/customers/anna").text.contains("note_remove"))
        other.open("/console/changes/new/note_remove?id=anna&note=1")
        try working {
            let refused = try other.submit("/console/changes/new/note_remove")
            #expect(refused.text.contains("The note is support"), "\(refused.text)")
            support.open("/console/changes/new/note_remove?id=anna&note=1")
            #expect(try support.submit("/console/changes/new/note_remove").text.contains("It is done."))
        }
        #expect(support.open("/console/customers/anna").text.contains("No operator noted anything."))
    }

    @Test("the page of a customer has the newest notes, and another page all of them")
    func pagesOfNotes() throws {
        let support = try browser(.support)
        try console.database.execute(
            """
            INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text)
            SELECT 'anna', u.name, n, 'note ' || n || '.' FROM entitled.console_user u, generate_series(1, 20) n
            """)
        let all = "/console/customers/anna/notes"
        #expect(!support.open("/console/customers/anna").text.contains("href=\"\(all)\""))
        try console.database.execute(
            """
            INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text)
            SELECT 'anna', 'ben', n, 'note ' || n || '.' FROM generate_series(21, 60) n
            """)
        let customer = support.open("/console/customers/anna").text
        #expect(customer.contains("href=\"\(all)\"") && customer.contains("note 41.") && !customer.contains("note 40."))
        let first = support.open(all).text
        #expect(first.contains("note 60.") && first.contains("note 11.") && !first.contains("note 10."))
        #expect(first.contains("entitled notes list anna"))
        let next = try #require(first.firstMatch(of: #/href="([^"]*notes\?[^"]*after=[^"]*)"/#)?.output.1, "\(first)")
        let last = support.open(String(next).replacing("&amp;", with: "&")).text
        #expect(last.contains("note 10.") && last.contains("note 1.") && !last.contains("note 11."))
        #expect(last.contains("changes/new/note_remove?id=anna&amp;note=1\"") && !last.contains("Next page"))
        #expect(support.open("/console/customers/nobody/notes").status == 404)
        #expect(try browser(.read).open(all).status == 403)
    }

    @Test("a form shows what will happen, and does no other thing then")
    func previews() throws {
        let browser = try browser(.operator)
        let path = "/console/changes/new/transfer"
        #expect(browser.open("/console/customers/anna").text.contains("\(path)?id=anna"))
        browser.open("\(path)?id=anna")
        let shown = try browser.submit(path, ["to": "ben", "purchase": "", "reason": "ticket", "preview": "true"])
        #expect(shown.status == 200 && shown.text.contains("What will happen"), "\(shown.text)")
        #expect(shown.text.contains("20001") && shown.text.contains("value=\"ticket\""))
        #expect(try console.database.count("SELECT count(*) FROM entitled.job") == 0)
        try console.database.execute("UPDATE entitled.purchase SET version = version + 1 WHERE owner = 'anna'")
        let stale = try browser.submit(path, ["to": "ben", "purchase": "", "reason": "ticket"])
        #expect(stale.status == 409 && stale.text.contains("was changed since it was previewed"), "\(stale.text)")
        try working {
            let done = try browser.submit(path, ["to": "ben", "purchase": "", "reason": "ticket"])
            #expect(done.text.contains("It is done."), "\(done.text)")
        }
        #expect(try console.database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["ben"])
        let refused = try browser.submitAfterOpening(
            "\(path)?id=ben", path, ["to": "BEN", "reason": "x", "purchase": ""])
        #expect(refused.status == 400 && refused.text.contains("similar ids are"), "\(refused.text)")
    }

    @Test("a purchase's page offers its claim, and a customer's page an alias, to those who may")
    func keepsToRoles() throws {
        let support = try browser(.support)
        let page = "/console/purchases/demo/Production/20001"
        #expect(try browser(.operator).open(page).text.contains("changes/new/claim?app=demo"))
        #expect(!support.open(page).text.contains("changes/new/claim"))
        #expect(!support.open("/console/customers/anna").text.contains("changes/new/alias"))
        #expect(support.open("/console/changes/new/alias?id=anna").status == 403)
        let reader = try browser(.read)
        #expect(!reader.open("/console/purchases/demo/Production/20001").text.contains("changes/new"))
        let operating = try browser(.operator)
        let path = "/console/changes/new/alias"
        try working {
            let done = try operating.submitAfterOpening(
                "\(path)?id=anna", path, ["alias": "anna-web", "create": "true", "reason": "x"])
            #expect(done.text.contains("It is done."), "\(done.text)")
        }
        #expect(operating.open("/console/customers/anna").text.contains("anna-web"))
    }

    @Test("what may be told to the customer has no ids in it")
    func copiesForTheCustomer() throws {
        let page = try browser(.support).open("/console/customers/anna").text
        #expect(page.contains("Copy for the customer"), "\(page)")
    }
}

extension TestBrowser {
    /// Opens a page with a form and sends that.
    fileprivate func submitAfterOpening(_ page: String, _ form: String, _ fields: [String: String]) throws -> HTTPCall {
        open(page)
        return try submit(form, fields)
    }
}
