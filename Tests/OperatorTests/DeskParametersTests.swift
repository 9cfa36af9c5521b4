import Base
import Database
import Testing

@testable import Operator

/// Queries as they come in a URL.
struct DeskParametersTests {
    private static let now: Int64 = 1_795_000_000_000

    private func events(_ query: String?) throws(DeskError) -> EventsQuestion {
        var parameters = try DeskParameters(query: query, of: "events")
        return try EventsQuestion(&parameters, now: DeskParametersTests.now)
    }

    private func failure(_ query: String) -> DeskError? {
        do throws(DeskError) {
            _ = try events(query)
            return nil
        } catch {
            return error
        }
    }

    @Test func `filters, times and the size of the page are read`() throws {
        let question = try events("type=RENEWAL&environment=Sandbox&since=1h&limit=25&app=")
        #expect(question.type == "RENEWAL")
        #expect(question.environment == .sandbox)
        #expect(question.app == nil)
        #expect(question.part.range.since == DeskParametersTests.now - 3_600_000)
        #expect(question.part.range.limit == 25)
        #expect(try events(nil).part.range.limit == 50)
    }

    @Test(arguments: [
        ("typ=RENEWAL", "unknown_parameter", "typ"), ("type=A&type=B", "bad_request", "type"),
        ("limit=101", "bad_request", "limit"), ("limit=-1", "bad_request", "limit"),
        ("environment=production", "bad_request", "environment"), ("since=soon", "bad_request", "since"),
        ("since=1h&until=2h", "bad_request", "until"), ("purchase=1&customer=2", "bad_request", "customer"),
        ("after=nonsense", "bad_request", "after"), ("type=%zz", "bad_request", nil), ("type=%00", "bad_request", nil),
        ("type=%ff", "bad_request", nil), ("&&=&", nil, nil),
    ])
    func `what cannot be meant is refused with the name of the parameter`(
        query: String, code: String?, field: String?
    ) {
        let error = failure(query)
        #expect(error?.code == code)
        #expect(error?.field == field)
    }

    @Test func `a long query is refused`() {
        #expect(failure("type=" + String(repeating: "a", count: 9000))?.status == 400)
        #expect(failure(String(repeating: "a=1&", count: 200))?.status == 400)
    }

    @Test func `a cursor belongs to its filters and its list`() throws {
        let part = try events("type=RENEWAL&since=1h").part
        let cursor = ListCursor(order: 5, lane: 3, id: [UInt8](repeating: 7, count: 16))
        struct Row: DeskAnswer { var json: JSON { .null } }
        let page = ListPage([1, 2], limit: 1) { _ in cursor }
        let next = try #require(part.list(page) { _ in Row() }.next)
        #expect(try events("since=1h&type=RENEWAL&limit=7&after=\(next)").part.range.after == cursor)
        #expect(failure("type=EXPIRATION&since=1h&after=\(next)")?.code == "cursor_of_other_filters")
        #expect(failure("type=RENEWAL&after=\(next)")?.code == "cursor_of_other_filters")
        var parameters = try DeskParameters(query: "type=RENEWAL&since=1h&after=\(next)", of: "deliveries")
        #expect(throws: DeskError.self) { try DeliveriesQuestion(&parameters, now: DeskParametersTests.now) }
    }

    @Test(arguments: [
        (PersonalDataView.whole, "anna@example.com", "anna@example.com"), (.masked, "@instagram", "••••"),
        (.masked, "annabel@example.com", "an••••@example.com"), (.masked, "anna@example.com", "••••"),
        (.masked, "12345", "••••"),
        (.hidden, "anna@example.com", "••••"),
    ])
    func `values of attributes are shown as far as the role goes`(view: PersonalDataView, value: String, shown: String)
    {
        #expect(view.shown(value) == shown)
    }

    @Test func `attributes in bodies are masked at any depth, and all else stays`() throws {
        let body = Array(
            #"{"event":{"id":"1","subscriber_attributes":{"$email":{"value":"anna@example.com","updated_at_ms":5}}}}"#
                .utf8)
        #expect(ShownBody.of(body, for: PersonalDataView.whole) == body)
        let hidden = try JSON(parsing: ShownBody.of(body, for: PersonalDataView.hidden))
        #expect(hidden["event"]?["id"] == .string("1"))
        let email = hidden["event"]?["subscriber_attributes"]?["$email"]
        #expect(email?["value"] == .string("••••"))
        #expect(email?["updated_at_ms"] == .int(5))
        let text = Array(#"{"subscriber_attributes":["anna",7,true]}"#.utf8)
        #expect(
            ShownBody.of(text, for: PersonalDataView.hidden)
                == Array(#"{"subscriber_attributes":["••••","••••","••••"]}"#.utf8))
        #expect(ShownBody.of(text, for: Viewer(user: "anna", role: .read)) == [])
        let plain = Array(#"{"b":1,"a":2}"#.utf8)
        #expect(ShownBody.of(plain, for: PersonalDataView.hidden) == plain)
    }

    @Test(arguments: OperatorRole.allCases)
    func `only operators see what operators do, and nobody but finance misses the search`(role: OperatorRole) {
        let viewer = Viewer(user: "anna", role: role)
        #expect(viewer.may(.actions) == (role == .operator))
        #expect(viewer.may(.search) == (role != .finance))
        #expect(viewer.may(.customers) == [.support, .operator].contains(role))
    }
}
