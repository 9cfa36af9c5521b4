import Base
import FoundationEssentials
import StoreSimulator
import TestSupport
import Testing

/// `entitled report` and what a customer spent, by the program itself.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ReportCommandTests {
    private static let products = [
        "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "a,b", "say \"it\"", "two\r\nlines", "ünï",
    ]

    /// Lives whose products have names that would do something elsewhere, applied.
    private func furnished() throws -> (site: Site, customer: String) {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        var lives = Self.products.enumerated().map { place, id in
            SubscriberLife(
                app: Site.app, seed: 31, number: UInt64(place),
                product: StoreProduct(id: id, price: 9990, period: 30 * StoreProduct.day, group: "1"))
        }
        for place in lives.indices { lives[place].start(at: Site.start) }
        lives[0].refund(percentage: 33_333, at: Site.start + 3 * StoreProduct.day)
        let notifications = lives.flatMap(\.notifications)
        let processes = [try site.start("ingest"), try site.start("worker")]
        let address = try processes[0].address("ingest")
        for notification in notifications { #expect(try site.post(notification, to: address) == 200) }
        let database = try #require(site.database)
        try eventually("all are applied; the worker said: \(processes[1].log.suffix(500))") {
            let applied = try database.count("SELECT count(*) FROM entitled.notification")
            let pending = try database.count("SELECT count(*) FROM entitled.pending")
            return applied == notifications.count && pending == 0
        }
        return (site, lives[0].latest.originalID)
    }

    /// The rows of CSV as another program reads them, in JSON.
    private func rows(_ text: String, in folder: String) throws -> [[String]] {
        let file = "\(folder)/report.csv"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let script =
            "import csv,json,sys;print(json.dumps(list(csv.reader(open(sys.argv[1],newline='',encoding='utf-8')))))"
        let python = try Program(running: ["/usr/bin/env", "python3", "-c", script, file], folder: folder)
        guard try python.wait() == 0, let rows = python.document?.arrayValue else {
            throw TestFailure("python: \(python.log)")
        }
        return rows.map { ($0.arrayValue ?? []).map { $0.stringValue ?? "?" } }
    }

    @Test func `the same numbers are in every output, and none is a formula`() throws {
        let (site, customer) = try furnished()
        let json = try #require(try site.run("report", "--from", "30d", "--by", "week", "--json").document)
        let (from, to) = (try #require(json["from"]?.stringValue), try #require(json["to"]?.stringValue))
        let again = try site.run("report", "--from", from, "--to", to, "--by", "week", "--json").document
        let document = try #require(again)
        let csv = try site.run("report", "--from", from, "--to", to, "--by", "week", "--csv").text
        var found = Set(try rows(csv, in: site.folder).dropFirst())
        #expect(csv.hasPrefix("from,to,figure,app,product_id,currency,value\r\n"))
        let parts = try #require(document["parts"]?.arrayValue)
        #expect(parts.count >= 5)
        for part in parts {
            let times = [part["from"], part["to"]].map { $0?.stringValue ?? "" }
            for section in ["counts", "at_end"] {
                for member in part[section]?.members ?? [] {
                    let row = times + ["\(section).\(member.name)", "", "", "", "\(member.value.intValue ?? -1)"]
                    #expect(found.remove(row) != nil, "\(row)")
                }
            }
            for product in part["revenue"]?.arrayValue ?? [] {
                let names = ["app", "product_id", "currency"].map { product[$0]?.stringValue ?? "" }
                for member in product.members ?? [] where !["app", "product_id", "currency"].contains(member.name) {
                    let value = member.value.stringValue ?? member.value.intValue.map(String.init) ?? ""
                    let isFormula =
                        names[1].unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
                    let row =
                        times + [
                            "revenue.\(member.name)", names[0], (isFormula ? "'" : "") + names[1], names[2], value,
                        ]
                    #expect(found.remove(row) != nil, "\(row)")
                }
            }
        }
        #expect(found == [])
        #expect(document["total"]?["counts"]?["new"]?.intValue == Int64(Self.products.count))
        let total = document["total"]?["revenue"]?.arrayValue?.first {
            $0["product_id"]?.stringValue == Self.products[0]
        }
        #expect(total?["gross"]?.stringValue == "9.99" && total?["refunded"]?.stringValue == "3.33")
        #expect(total?["net"]?.stringValue == "6.66" && total?["mrr"]?.stringValue == "0")
        let names = (document["total"]?["revenue"]?.arrayValue ?? []).compactMap { $0["product_id"]?.stringValue }
        #expect(Set(names) == Set(Self.products))
        try people(site, customer)
    }

    private func people(_ site: Site, _ customer: String) throws {
        let page = try site.run("report", "--from", "30d", "--by", "week").text
        #expect(page.contains("FROM") && page.contains("before Apple's commission") && page.contains("3.33"))
        let total = try site.run("report", "--from", "30d").text
        #expect(total.contains("churned refund") && !total.unicodeScalars.contains("\t"))
        let shown = try #require(try site.run("customers", "show", customer, "--json").document)
        let names = (shown.members ?? []).map(\.name)
        #expect(Set(names).isSuperset(of: ["customer", "purchases", "entitlements", "timeline", "subscriber"]))
        let spending = try #require(shown["spending"]?.arrayValue?.first)
        #expect(spending["paid"]?.stringValue == "9.99" && spending["net"]?.stringValue == "6.66")
        #expect(spending["environment"]?.stringValue == "Production" && spending["refunds"]?.intValue == 1)
        #expect(try site.run("customers", "show", customer).text.contains("MONEY"))
    }

    @Test func `days begin in the zone of the business`() throws {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        let arguments = ["report", "--from", "2026-10-24", "--to", "2026-10-27", "--by", "day"]
        func begins(_ more: [String]) throws -> [String?] {
            let document = try #require(try site.run(arguments + ["--json"] + more).document)
            return (document["parts"]?.arrayValue ?? []).map { $0["from"]?.stringValue }
        }
        let utc = ["2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z", "2026-10-26T00:00:00Z"]
        #expect(try begins([]) == utc)
        // Clocks went back on the 25th, which had 25 hours.
        #expect(
            try begins(["--time-zone", "Europe/Vienna"]) == [
                "2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
            ])
        #expect(try site.run(arguments + ["--time-zone", "Europe/Vienna"]).text.contains("Europe/Vienna"))
        try site.configure(["reports": .object(["time_zone": .string("Asia/Kathmandu")])])
        #expect(try begins([]).first == "2026-10-23T18:15:00Z")
        #expect(try begins(["--time-zone", "UTC"]) == utc)
    }

    @Test func `nothing is zeros, and nonsense is refused`() throws {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        let document = try site.run("report", "--from", "2d", "--json").document
        #expect(document?["total"]?["counts"]?["new"]?.intValue == 0)
        #expect(document?["total"]?["revenue"]?.arrayValue?.isEmpty == true)
        #expect(try site.run("report", "--from", "2d", "--by", "day").text.contains("no money"))
        // What is to come is cut off.
        let ahead = try site.run("report", "--from", "2d", "--to", "2099-01-01", "--json").document
        #expect(ahead?["to"]?.stringValue?.hasPrefix("2099") == false)
        let refusals: [([String], String)] = [
            (["--from", "2099-01-01"], "in the future"), (["--from", "2d", "--to", "2d"], "--to must be after --from"),
            (["--from", "2d", "--to", "3d"], "--to must be after --from"), ([], "entitled report needs --from TIME"),
            (["--from", "2d", "--app", "nobody"], "configured: demo"), (["--from", "tomorrow"], "--from"),
            (["--from", "2d", "--time-zone", "Europe/Wien"], "a time zone that this host knows"),
            (["--from", "1990-01-01", "--by", "day"], "4000 parts"), (["--from", "2d", "--by", "year"], "--by"),
            (["--from", "2d", "--csv", "--json"], "cannot be combined"),
            (["--from", "2d", "--environment", "Xcode"], "--environment"),
        ]
        for (arguments, message) in refusals {
            let refused = try Program(
                ["report"] + arguments + ["--config", "\(site.folder)/entitled.json5"], folder: site.folder)
            #expect(try refused.wait() == 2, "\(arguments)")
            #expect(refused.log.contains(message) && refused.logLines.count == 1, "\(arguments): \(refused.log)")
            #expect(refused.text.isEmpty)
        }
        #expect(try site.run("report", "--help").text.contains("taken_over: "))
    }
}
