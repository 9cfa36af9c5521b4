import EntitledApp
import Testing

/// The doctor's report as it stands on a terminal.
struct DoctorReportTests {
    private let report = DoctorReport([
        NamedFinding(name: "app_store.key", finding: .ok("demo: taken")),
        NamedFinding(name: "work.workers", finding: .warning("few\u{1B}[2J", "start more")),
        NamedFinding(name: "work.held", finding: .error("many", nil)),
    ])

    @Test func `a report byte for byte`() {
        #expect(
            report.text(colours: false) == """
                APP STORE
                  ok       demo: taken

                WORK
                  warning  few [2J
                           → start more
                  ERROR    many

                1 error, 1 warning

                """)
    }

    @Test(arguments: [40, 60, 80])
    func `findings continue below themselves where the screen is narrow`(columns: Int) {
        let long = NamedFinding(
            name: "work.workers",
            finding: .warning(
                "one two three four five six seven eight nine ten eleven twelve thirteen", "do this, then do that"))
        let lines = DoctorReport([long]).text(colours: false, columns: columns).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= columns })
        #expect(lines[1].hasPrefix("  warning  one two"))
        #expect(lines[2].hasPrefix(String(repeating: " ", count: 11)))
    }

    @Test func `colours change nothing else`() {
        let coloured = report.text(colours: true)
        #expect(coloured.contains("\u{1B}[32mok\u{1B}[0m       demo"))
        #expect(coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "") == report.text(colours: false))
    }
}
