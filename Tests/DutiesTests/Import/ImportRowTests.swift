import Base
import Duties
import Testing

struct ImportRowTests {
    private func read(_ text: String) throws -> [ImportRow.Reading] {
        let layout = try ImportLayout(beginning: Array(text.utf8))
        var rest = Array(text.utf8)[...]
        var reader = CSVReader(delimiter: layout.delimiter) { count in
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        _ = try reader.next()
        var readings: [ImportRow.Reading] = []
        while let record = try reader.next() { readings.append(ImportRow.read(record, layout, asOf: 7)) }
        return readings
    }

    private func row(_ reading: ImportRow.Reading?) throws -> ImportRow {
        guard case .row(let row)? = reading else {
            Issue.record("\(String(describing: reading))")
            throw CSVReader.Failure.unreadable("no row")
        }
        return row
    }

    @Test(arguments: [",", ";", "\t", "|"]) func `columns of one's own are found with any delimiter`(
        delimiter: String
    ) throws {
        let names = [
            "App_User_ID", "original_transaction_id", "transaction_id", "aliases", "environment", "first_seen",
            "attributes.$email", "attributes.Plan",
        ]
        let values = ["u1", "20001", "", "\"a1, auth0|2\"", "sandbox", "2024-05-01 12:00:00", "a@b.co", "gold"]
        let text = names.joined(separator: delimiter) + "\n" + values.joined(separator: delimiter) + "\n"
        let row = try row(read(text).first)
        #expect(row.appUserID == "u1" && row.purchase == .original("20001") && row.aliases == ["a1", "auth0|2"])
        #expect(row.environment == .sandbox && row.firstSeen == Timestamp.parse("2024-05-01T12:00:00Z"))
        #expect(row.attributes?["$email"]?["value"] == .string("a@b.co"))
        #expect(row.attributes?["Plan"] == .object(["value": .string("gold"), "updated_at_ms": .int(7)]))
    }

    @Test func `RevenueCat's scheduled export is read as it is`() throws {
        let text = """
            rc_original_app_user_id;rc_last_seen_app_user_id_alias;country;product_identifier;store;is_sandbox;\
            store_transaction_id;original_store_transaction_id;first_seen_time;custom_subscriber_attributes
            $RCAnonymousID:1;u1;DE;pro;app_store;false;20002;20001;2024-05-01T12:00:00Z;\
            "{""team"":{""value"":""x"",""updated_at_ms"":5},""n"":""y""}"
            u2;u2;DE;pro;play_store;false;GPA.1;GPA.1;;
            u3;;DE;pro;mac_app_store;true;20003;;;
            """
        let readings = try read(text)
        let one = try row(readings.first)
        #expect(one.appUserID == "u1" && one.aliases == ["$RCAnonymousID:1"] && one.purchase == .original("20001"))
        #expect(one.environment == .production && one.firstSeen == Timestamp.parse("2024-05-01T12:00:00Z"))
        #expect(one.attributes?["team"] == .object(["value": .string("x"), "updated_at_ms": .int(5)]))
        #expect(one.attributes?["n"] == .object(["value": .string("y"), "updated_at_ms": .int(7)]))
        #expect(readings[1] == .otherStore)
        let three = try row(readings.last)
        #expect(three.appUserID == "u3" && three.purchase == .transaction("20003") && three.environment == .sandbox)
    }

    @Test func `attributes that an export has as a JSON string are read`() throws {
        let object = JSON.string(#"{"team":{"value":"x","updated_at_ms":5}}"#).text
        let text =
            "rc_original_app_user_id;store;store_transaction_id;custom_subscriber_attributes\n"
            + "u4;app_store;20004;\"\(object.replacing("\"", with: "\"\""))\"\n"
        let row = try row(read(text).first)
        #expect(row.attributes?["team"] == .object(["value": .string("x"), "updated_at_ms": .int(5)]))
    }

    private static let layouts: [([UInt8], String)] = [
        (Array("app_user_id,original_transaction_id,alias\n".utf8), "'alias' is not known"),
        (Array("app_user_id,email\n".utf8), "'email' is not known"),
        (Array("app_user_id\n".utf8), "none of the columns"),
        (Array("original_transaction_id\n".utf8), "app_user_id is missing"),
        (Array("x,y\n1,2\n".utf8), "has no known column"),
        ([], "empty"), (Array("app_user_id,app_user_id,jws\n".utf8), "twice"),
        (Array("rc_original_app_user_id;store_transaction_id\n".utf8), "column store is missing"),
        (Array("rc_original_app_user_id;store\n".utf8), "neither the column"),
        ([0xff, 0xfe, 0x61, 0x00], "UTF-16"), ([0x1f, 0x8b, 8], "gzip twice"), ([0x50, 0x4b, 3, 4], "workbook"),
        (Array("\"app_user_id,jws\nx,y\n".utf8), "never closed"),
    ]

    @Test(arguments: layouts) func `a file that cannot be meant is refused at once`(bytes: [UInt8], part: String) {
        let flaw = #expect(throws: ImportLayout.Flaw.self) { try ImportLayout(beginning: bytes) }
        #expect(flaw?.description.contains(part) == true, "\(flaw?.description ?? "")")
    }

    private static let flaws: [(String, String)] = [
        (",20001,,", "app_user_id is empty"), ("u1,,,", "has no purchase"), ("u1,20001,", "3 fields"),
        ("u1,2.00000123E+15,,", "rounded by a spreadsheet"), ("u1,GPA.1234,,", "not a transaction id of Apple"),
        ("=1+1,20001,,", "formula"), ("undefined,20001,,", "cannot name a customer"),
        ("u1,20001,xcode,", "neither Production nor Sandbox"), ("u1,20001,,yesterday", "not a time in ISO 8601"),
    ]

    @Test(arguments: flaws) func `a row that cannot be meant says why`(line: String, part: String) throws {
        let reading = try read("app_user_id,original_transaction_id,environment,first_seen\n\(line)\n").first
        guard case .flawed(let reason)? = reading else {
            Issue.record("\(String(describing: reading))")
            return
        }
        #expect(reason.contains(part), "\(reason)")
    }

    /// As databases print them; without a zone they are UTC.
    @Test(arguments: [
        "2026-11-21 01:02:03+00", "2026-11-21 01:02:03.456789+00", "2026-11-21 02:02:03+01",
        "2026-11-21 06:32:03+05:30",
        "2026-11-20 21:02:03.4-0400", "2026-11-21 01:02:03", "2026-11-21 01:02:03.456 UTC", "2026-11-21T01:02:03Z",
        "1795222923", "1795222923456",
    ])
    func `times are read as Postgres and others print them`(text: String) throws {
        let reading = try read("app_user_id,original_transaction_id,first_seen\nu1,20001,\(text)\n").first
        guard case .row(let row)? = reading else {
            Issue.record("\(String(describing: reading))")
            return
        }
        #expect((row.firstSeen ?? 0) / 1000 == 1_795_222_923, "\(row.firstSeen ?? 0)")
    }

    @Test func `the place of a job is read as it was written, and nothing else is`() {
        var progress = ImportProgress()
        progress.position = CSVReader.Position(offset: 77, line: 3)
        (progress.rows, progress.already) = (5, 2)
        #expect(ImportProgress(words: progress.words) == progress)
        #expect(ImportProgress(words: []) == ImportProgress())
        #expect(ImportProgress(words: ["2"] + progress.words.dropFirst()) == nil)
        #expect(ImportProgress(words: Array(progress.words.dropLast())) == nil)
    }
}
