import Base
import CLI
import Daemon
import TestSupport
import Testing

/// Tables in the width of a screen.
struct FittedTableTests {
    private static let now: Int64 = 1_790_000_000_000
    private static let hour: Int64 = 3_600_000

    private func screen(_ columns: Int) -> Screen { Screen(columns: columns, clock: ManualClock(Self.now)) }

    private func table(rows: Int = 4) -> TextTable {
        var table = TextTable([
            .time("created"), "event", "state", .number("attempts"), .time("next"), .id("endpoint"), .key("id"),
            .prose("reason"),
        ])
        for row in 0..<rows {
            table.add([
                Timestamp.text(Self.now - Int64(row + 3) * Self.hour), "RENEWAL", "dead", "\(row * 5)", "",
                "we_0123456789abcdef01234567", "dlv_\(row)0aabbccddeeff00112233445566778899",
                row == 1 ? "the consumer answered with the status 500 six times in a row" : "",
            ])
        }
        return table
    }

    private func widest(_ text: String) -> Int { text.split(separator: "\n").map(\.count).max() ?? 0 }

    @Test(arguments: [20, 30, 40, 60, 80, 100, 120, 160, 200, 400])
    func `no line is wider than the screen, and every row is there`(columns: Int) {
        let text = table().text(on: screen(columns))
        #expect(widest(text) <= columns, "\(text)")
        for row in 0..<4 { #expect(text.contains("dlv_\(row)0"), "\(text)") }
    }

    @Test func `in a file or a pipe everything is there, whatever the width`() {
        let text = table().text()
        #expect(text.hasPrefix("CREATED               EVENT    STATE  ATTEMPTS  NEXT  ENDPOINT"))
        #expect(
            text.contains("dlv_00aabbccddeeff00112233445566778899") && text.contains("status 500 six times in a row"))
        #expect(!text.contains(" ago") && !text.contains("…"))
    }

    @Test func `a wide screen shows how long ago, and no empty column`() {
        let text = table().text(on: screen(220))
        let lines = text.split(separator: "\n")
        #expect(lines.first?.contains("NEXT") == false)
        #expect(lines.dropFirst().first?.hasPrefix("\(Timestamp.text(Self.now - 3 * Self.hour)), 3 h ago") == true)
        #expect(lines.count == 5 && !text.contains("…"))
    }

    @Test func `ids are shortened in the middle, the key last, and a line says so`() {
        let wide = table().text(on: screen(138))
        #expect(wide.contains("we_0123…4567") && wide.contains("dlv_10aabbccddeeff00112233445566778899"))
        #expect(wide.contains("Ids are shortened to fit."))
        let narrow = table().text(on: screen(76))
        #expect(narrow.contains("dlv_10aa…8899") && narrow.contains("Ids are shortened to fit."))
        #expect(narrow.contains("In every row: event RENEWAL, state dead"))
        #expect(narrow.contains("4 h ago  "))
    }

    @Test func `shortened ids stay different, and names are left alone`() {
        var table = TextTable([.key("id"), .id("user"), .prose("note")])
        for middle in ["aaaa", "bbbb", "cccc", "dddd"] {
            table.add(["01234567\(middle)01234567890123456789", "\(middle).with.a.long.name.1@example.com", "x"])
        }
        let text = table.text(on: screen(60))
        for middle in ["aaaa", "bbbb", "cccc", "dddd"] {
            #expect(text.contains("01234567\(middle)…456789  \(middle).with.a.long.name.1@example.com\n"), "\(text)")
        }
    }

    @Test func `a screen that is too narrow gets a block for each row, with all that the row says`() {
        let text = table(rows: 2).text(on: screen(60))
        #expect(
            text == """
                id dlv_00aabbccddeeff00112233445566778899
                  created   \(Timestamp.text(Self.now - 3 * Self.hour)), 3 h ago
                  event     RENEWAL
                  state     dead
                  attempts  0
                  endpoint  we_0123456789abcdef01234567

                id dlv_10aabbccddeeff00112233445566778899
                  created   \(Timestamp.text(Self.now - 4 * Self.hour)), 4 h ago
                  event     RENEWAL
                  state     dead
                  attempts  5
                  endpoint  we_0123456789abcdef01234567
                  reason    the consumer answered with the status 500 six
                            times in a row

                """)
    }

    @Test func `sentences take several lines before anything is shortened`() {
        var table = TextTable([.key("id"), .prose("reason")])
        table.add(["1", "the consumer answered with the status 500 six times in a row"])
        table.add(["2", "gone"])
        #expect(
            table.text(on: screen(40)) == """
                ID  REASON
                1   the consumer answered with the
                    status 500 six times in a row
                2   gone

                """)
    }

    @Test func `columns move together before a table becomes blocks`() {
        var table = TextTable(["product", .number("gross"), .number("net")])
        for price in ["1234.50", "91.90"] { table.add(["pro_monthly_\(price)", price, price]) }
        #expect(
            table.text(on: screen(35)) == """
                PRODUCT               GROSS     NET
                pro_monthly_1234.50 1234.50 1234.50
                pro_monthly_91.90     91.90   91.90

                """)
    }

    @Test func `numbers stand below each other, and wide characters count twice`() {
        var table = TextTable(["product", .number("net")])
        table.add(["pro", "4.80"])
        table.add(["月", "1200.00"])
        #expect(table.text() == "PRODUCT      NET\npro         4.80\n月       1200.00\n")
    }

    @Test(arguments: [
        ("url     https://e.com", "url     https://e.com"),
        (
            "health  failing since Monday: 3 failures; no success yet",
            """
            health  failing since Monday: 3
                    failures; no success yet
            """
        ),
        ("a sentence without a name that is long", "a sentence without a name that\nis long"),
        ("a name of very many letters  and a long value", "a name of very many letters  and\n  a long value"),
        ("  inner   one two three four five six", "  inner   one two three four\n          five six"),
        ("", ""), ("          ", "          "),
    ])
    func `the value of a record continues below itself`(line: String, wanted: String) {
        let printed = Monitor<[UInt8]>([])
        let terminal = Terminal(isInteractive: true, screen: screen(32)) { bytes in
            printed.change { $0 += bytes }
        } errors: { _ in
        }
        terminal.record(line)
        #expect(String(decoding: printed.read { $0 }, as: UTF8.self) == wanted + "\n")
    }

    @Test func `a bar leaves the last column free`() {
        let text = "12 purchases, 3 customers, 0 differences"
        #expect(ProgressBar.line(0.5, text).hasSuffix("50 % \(text)"))
        #expect(ProgressBar.line(0.5, text, columns: 60).count < 60)
        #expect(ProgressBar.line(0.5, text, columns: 60).hasSuffix("50 % \(text)"))
        #expect(ProgressBar.line(0.5, text, columns: 24).count < 24)
    }
}
