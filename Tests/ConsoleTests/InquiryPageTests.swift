import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// The forms by which operators ask Apple something, and what the pages show of the answers.
@Suite("Questions to Apple in the console") struct InquiryPageTests {
    private let console: RunningConsole
    private var records: Records { Records(console: console) }

    init() throws {
        console = try RunningConsole()
    }

    /// What a worker writes of an answer.
    private func end(_ ending: ChangeEnding) throws {
        try console.onHost { connection in
            try connection.transaction {
                guard let change = try ChangeTable.takeInquiry(on: connection) else {
                    throw TestFailure("none is asked")
                }
                try ChangeTable.end(change, ending, on: connection)
            }
        }
    }

    private func number() throws -> Int64 { try console.database.count("SELECT max(id) FROM entitled.job") }

    @Test("the page of a purchase has the button for those who may, with a preview and the answer as a sentence")
    func polls() throws {
        let id = "2000000000000001"
        try records.buy("anna", id)
        let form = "/console/changes/new/status_poll"
        let path = "/console/purchases/demo/Production/\(id)"
        let query = "?app=demo&amp;environment=Production&amp;id=\(id)"
        let browser = try records.browser(.support)
        #expect(browser.open(path).text.contains("\(form)\(query)"))
        #expect(!(try records.browser(.read)).open(path).text.contains(form))
        browser.open("\(form)?app=demo&environment=Production&id=\(id)")
        let shown = try browser.submit(form, ["reason": "ticket 2", "preview": "true"])
        #expect(shown.text.contains("What will happen") && !shown.text.contains("It would be refused"), "\(shown.text)")
        let asked = try browser.submit(form, ["reason": "ticket 2"])
        #expect(asked.text.contains("Ask Apple how a purchase stands"), "\(asked.text)")
        try end(.done(.object(["answer": .string("Apple answered. <b>Nothing</b>"), "new_transactions": .int(0)])))
        let done = browser.open("/console/changes/\(try number())")
        #expect(
            done.text.contains("Apple answered. &lt;b>Nothing&lt;/b>")
                || done.text.contains("Apple answered. &lt;b&gt;"), "\(done.text)")
        #expect(done.text.contains("New transactions"))
    }

    @Test("one question too many leaves the form as it was filled in")
    func turnsAway() throws {
        let browser = try records.browser(.support)
        let form = "/console/changes/new/order_lookup"
        browser.open(form)
        try console.database.execute(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, idempotency_key)
            SELECT 'status_poll', 'r' || n, '{}', u.name, 1, 1, '2000000000000001', 'k' || n
            FROM entitled.console_user u, generate_series(1, 16) n WHERE u.role = 'support'
            """)
        let turned = try browser.submit(form, ["order_id": "MK5TTTVWJH", "reason": "ticket 77"])
        #expect(turned.status == 429 && turned.text.contains("16 of your questions to Apple"), "\(turned.text)")
        #expect(turned.text.contains("value=\"MK5TTTVWJH\"") && turned.text.contains("ticket 77"), "\(turned.text)")
    }

    @Test("a search for what looks like an order number offers to ask, and the outcome links the purchases")
    func looksUp() throws {
        let browser = try records.browser(.support)
        let form = "/console/changes/new/order_lookup"
        #expect(browser.open("/console/search?q=mk5tttvwjh").text.contains("\(form)?order_id=MK5TTTVWJH"))
        #expect(!browser.open("/console/search?q=margaret").text.contains(form))
        #expect(!(try records.browser(.read)).open("/console/search?q=MK5TTTVWJH").text.contains(form))
        let opened = browser.open("\(form)?order_id=MK5TTTVWJH")
        #expect(opened.text.contains("value=\"MK5TTTVWJH\""), "\(opened.text)")
        let wrong = try browser.submit(form, ["order_id": "2000"])
        #expect(wrong.status == 400 && wrong.text.contains("is no order number"), "\(wrong.text)")
        let shown = try browser.submit(form, ["order_id": "MK5TTTVWJH", "preview": "true"])
        #expect(shown.text.contains("What will happen") && shown.text.contains("demo"), "\(shown.text)")
        _ = try browser.submit(form, ["order_id": "MK5TTTVWJH", "reason": ""])
        #expect(
            try console.database.texts("SELECT target || ' ' || reason FROM entitled.job") == [
                "MK5TTTVWJH an order's number"
            ])
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000000000000777")
        try end(
            .done(
                .object([
                    "answer": .string("The order is of 1 purchase."), "new_transactions": .int(1),
                    "purchases": .array([key.named]),
                ])))
        let done = browser.open("/console/changes/\(try number())")
        #expect(done.text.contains("The order is of 1 purchase."), "\(done.text)")
        #expect(done.text.contains("href=\"/console/purchases/demo/Production/2000000000000777\""), "\(done.text)")
    }
}
