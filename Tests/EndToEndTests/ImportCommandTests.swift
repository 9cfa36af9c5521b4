import Base
import Daemon
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// `entitled import` and `entitled compare` as commands: options, files, what they print and how they end.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ImportCommandTests {
    private let site: Site
    private let store: StoreProcess
    private let ids: [String]

    init() throws {
        site = try Site(try TestCluster.shared.makeMigratedDatabase())
        store = try StoreProcess(site.folder, "store", "--seed", "5", "--subscribers", "6", "--scenario", "year")
        ids = try store.originals()
        try site.configure([store.app("demo")], of: [store])
        try #require(ids.count >= 5)
    }

    private var rows: [String] { ids.enumerated().map { "user-\($0),\($1)" } }

    /// - Parameter rows: without the heading.
    @discardableResult
    private func write(_ rows: [String], to name: String = "customers.csv") throws -> String {
        let path = "\(site.folder)/\(name)"
        let text = (["app_user_id,original_transaction_id"] + rows).joined(separator: "\n") + "\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func shell(_ script: String, environment: [String: String] = [:]) throws -> Program {
        let program = try Program(
            running: ["/bin/sh", "-c", script], folder: site.folder, environment: environment)
        #expect(try program.wait() == 0, "\(program.log)")
        return program
    }

    private func bringIn(_ path: String, _ options: String..., status: Int32 = 0) throws -> Program {
        try site.run(["import", "--csv", path, "--app", "demo"] + options, status: status)
    }

    private func compare(_ path: String, _ options: String..., status: Int32 = 0) throws -> Program {
        try site.run(["compare", "--csv", path, "--app", "demo"] + options, status: status)
    }

    private func untilApplied() throws -> Program {
        let worker = try site.start("worker")
        _ = try worker.address("admin")
        try eventually("it is applied; the worker said: \(worker.log.suffix(500))") {
            try site.database?.count("SELECT count(*) FROM entitled.pending") == 0
        }
        return worker
    }

    // MARK: - Packed files

    @Test func `an export that gzip packed is counted, imported and compared as it is`() throws {
        let path = try write(rows)
        _ = try shell("gzip \(path)")
        let counted = try bringIn("\(path).gz", "--dry-run", "--json").document
        #expect(counted?["imported"]?.intValue == Int64(ids.count))
        let done = try bringIn("\(path).gz", "--json").document
        #expect(done?["imported"]?.intValue == Int64(ids.count) && done?["refused"] == .int(0))
        let worker = try untilApplied()
        let compared = try compare("\(path).gz", "--json").document
        #expect(compared?["same"]?.intValue == Int64(ids.count) && compared?["differing"] == .int(0))
        // What it was packed from is the same import.
        _ = try shell("gunzip \(path).gz")
        #expect(try bringIn(path, "--json").document?["already"]?.intValue == Int64(ids.count))
        withExtendedLifetime(worker) {}
    }

    @Test func `a packed file that is damaged is one line, and nothing is begun`() throws {
        let path = try write(rows)
        let differences = "\(site.folder)/differences.csv"
        let damages = [
            "head -c 40 \(path).gz > \(path).bad", "cat \(path).gz \(path) > \(path).bad",
            "{ head -c 30 \(path).gz; printf x; tail -c +32 \(path).gz; } > \(path).bad",
        ]
        _ = try shell("gzip -k \(path)")
        for damage in damages {
            _ = try shell(damage)
            for program in [
                try bringIn("\(path).bad", status: 1), try bringIn("\(path).bad", "--dry-run", status: 1),
                try compare("\(path).bad", "--differences", differences, status: 1),
            ] {
                #expect(program.logLines.count == 1 && program.log.contains("its gzip data"), "\(program.log)")
                #expect(program.text.isEmpty)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: differences))
        #expect(try site.database?.count("SELECT count(*) FROM entitled.job") == 0)
        #expect(try store.calls() == 0)
    }

    // MARK: - Options

    @Test func `--rate keeps all requests to Apple at a rate`() throws {
        let path = try write(rows)
        let before = try store.calls()
        let began = ContinuousClock.now
        #expect(try bringIn(path, "--rate", "6", "--json").document?["imported"]?.intValue == Int64(ids.count))
        let calls = try store.calls() - before
        #expect(calls >= 2 * ids.count)
        #expect(ContinuousClock.now - began > .milliseconds((calls - 1) * 1000 / 6), "\(calls) calls")
        for wrong in ["0", "51", "fast"] { _ = try bringIn(path, "--rate", wrong, status: 2) }
    }

    @Test func `--refused names a file of its own, and writes over none`() throws {
        let path = try write(rows + ["null,1"])
        let refused = "\(site.folder)/rejected.csv"
        try "of last year\n".write(toFile: refused, atomically: true, encoding: .utf8)
        let stopped = try bringIn(path, "--refused", refused, status: 1)
        #expect(stopped.logLines.count == 1 && stopped.log.contains("a file that this import did not write is there"))
        #expect(try String(contentsOfFile: refused, encoding: .utf8) == "of last year\n")
        #expect(try site.database?.count("SELECT count(*) FROM entitled.job") == 0)
        _ = try bringIn(path, "--refused", path, status: 2)
        _ = try bringIn(path, "--refused", "\(site.folder)/none/x.csv", status: 1)
        unlink(refused)
        let done = try bringIn(path, "--refused", refused)
        #expect(done.text.contains("rows that need a person: \(refused)"))
        let rejected = try String(contentsOfFile: refused, encoding: .utf8)
        #expect(rejected.contains("\r\n\(ids.count + 2),app_user_id: 'null'"))
        #expect(!FileManager.default.fileExists(atPath: "\(path).refused.csv"))
        // The same again has the same rows to say.
        _ = try bringIn(path, "--refused", refused)
    }

    @Test(.enabled(if: access("/usr/bin/script", X_OK) == 0, "skipped: no script program"))
    func `a terminal shows how far it is, and nothing of it stays`() throws {
        let path = try write(rows)
        let arguments = "import --csv \(path) --app demo --rate 10 --config \(site.folder)/entitled.json5"
        let command = "\(Program.path) \(arguments)"
        let seen = try shell("script -qefc '\(command)' /dev/null", environment: ["TERM": "xterm"]).text
        #expect(seen.contains("█") && seen.contains("\u{1B}[K"))
        #expect(seen.contains(/\d+ % [1-9] rows, [1-9] imported/), "\(seen)")
        #expect(seen.contains("\r\u{1B}[K\(ids.count) rows: \(ids.count) imported"))
        // Without one it shows the result alone.
        let plain = try bringIn(path)
        #expect(plain.text.hasPrefix("\(ids.count) rows: 0 imported, \(ids.count) imported already"))
        #expect(plain.log.isEmpty)
    }

    // MARK: - Several apps and keys

    @Test func `two apps are imported at once, each by its own key, one of which Apple refuses`() throws {
        let other = try StoreProcess(
            site.folder, "other", "--seed", "6", "--bundle-id", "com.example.second", "--apple-app-id", "77")
        let refused: [String: JSON] = [
            "key_id": .string("REFUSED123"), "private_key_file": store.text("private_key_file"),
            "previous": .object(["key_id": other.text("key_id"), "private_key_file": other.text("private_key_file")]),
        ]
        try site.configure([store.app("demo"), other.app("second", access: refused)], of: [store, other])
        let others = try other.originals()
        // Each has a purchase of the other app in it.
        let first = try write(rows + ["stranger,\(others[0])"], to: "first.csv")
        let own = others.enumerated().map { "second-\($0),\($1)" }
        let second = try write(own + ["stranger,\(ids[0])"], to: "second.csv")
        let programs = [("demo", first), ("second", second)].map { app, path in
            Result { try site.start("import", "--csv", path, "--app", app, "--json") }
        }
        for (program, count) in zip(programs, [ids.count, others.count]) {
            let program = try program.get()
            #expect(try program.wait() == 0, "\(program.log)")
            #expect(program.document?["imported"]?.intValue == Int64(count), "\(program.text)")
            #expect(program.document?["unknown"] == .int(1) && program.document?["refused"] == .int(0))
        }
        let worker = try untilApplied()
        let apps =
            "SELECT count(DISTINCT app) FROM entitled.purchase WHERE owner LIKE 'user-%' OR owner LIKE 'second-%'"
        #expect(try site.database?.count(apps) == 2)
        #expect(try site.database?.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'stranger'") == 0)
        try site.run("rebuild", "--dry-run")
        withExtendedLifetime(worker) {}
    }

    // MARK: - Comparing

    @Test func `a comparison ends with 1 if anything differs or cannot be read, and writes a whole new file`() throws {
        let path = try write(rows)
        _ = try bringIn(path)
        let worker = try untilApplied()
        #expect(try compare(path).text.contains("\(ids.count) agree, 0 differ"))
        let differences = "\(site.folder)/differences.csv"
        _ = try compare(path, "--differences", differences)
        let heading = "line,reason,app_user_id,original_transaction_id,transaction_id,product_id,there,here\r\n"
        #expect(try String(contentsOfFile: differences, encoding: .utf8) == heading)
        var status = stat()
        #expect(stat(differences, &status) == 0 && status.st_mode & 0o777 == 0o600)

        let wrong = try write(["stranger,\(ids[0])"] + rows.dropFirst(), to: "wrong.csv")
        let told = try compare(wrong, "--json", status: 1).document
        #expect(
            told?["differing"] == .int(1) && told?["differences"]?.arrayValue?.first?["cause"] == .string("other_owner")
        )
        // Nothing is written over, and nothing is compared for it.
        let refused = try compare(wrong, "--differences", differences, status: 1)
        #expect(refused.log.contains("--force replaces it") && refused.text.isEmpty)
        #expect(try String(contentsOfFile: differences, encoding: .utf8) == heading)
        let replaced = try compare(wrong, "--differences", differences, "--force", status: 1)
        #expect(replaced.text.contains("all differences: \(differences)"))
        let lines = try String(contentsOfFile: differences, encoding: .utf8).split(separator: "\r\n")
        #expect(lines.count == 2 && lines[1].hasPrefix("2,other_owner,stranger,\(ids[0]),"))

        // A row that cannot be read is no agreement.
        let unreadable = try write(rows + ["too,many,fields"], to: "unreadable.csv")
        #expect(try compare(unreadable, status: 1).text.contains("1 cannot be read"))
        // What could not be compared has no counts.
        for (file, status) in [("\(site.folder)/none.csv", 1), (differences, 1)] as [(String, Int32)] {
            let failed = try compare(file, "--json", status: status)
            #expect(failed.document?["rows"] == nil && failed.logLines.count == 1, "\(failed.log)")
        }
        _ = try compare(path, "--differences", path, status: 2)
        _ = try compare(path, "--force", status: 2)
        _ = try compare(path, "--differences", "/dev/stdout", "--json", status: 2)
        let left = try FileManager.default.contentsOfDirectory(atPath: site.folder).filter { $0.contains("unfinished") }
        #expect(left == [])
        withExtendedLifetime(worker) {}
    }

    // MARK: - Long files

    /// In kB, while the program runs; 0 once it has ended.
    private func peak(_ program: Program) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(program.process)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// Its memory when it has read so many rows does not depend on how many there are.
    @Test func `a long file needs no more memory than a short one`() throws {
        let header =
            "rc_original_app_user_id,rc_last_seen_app_user_id_alias,store,is_sandbox,original_store_transaction_id"
        // Other stores' rows, rows that are refused, and rows that repeat others, each with a long id.
        let id = String(repeating: "i", count: 90)
        let rows = [
            "\(id),\(id),play_store,true,GPA.1", "\(id),\(id),app_store,maybe,1",
            "\(id),\(id),app_store,true,\(ids[0])",
        ]
        func measure(_ copies: Int) throws -> (peak: Int, rows: Int64) {
            let path = "\(site.folder)/long-\(copies).csv.gz"
            let body = rows.map { "echo '\($0)'" }.joined(separator: "; ")
            let block = "\(site.folder)/block"
            _ = try shell("for i in $(seq 1000); do \(body); done > \(block)")
            _ = try shell(
                "{ echo '\(header)'; for i in $(seq \(copies)); do cat \(block); done; } | gzip -1 > \(path)")
            let program = try site.start("import", "--csv", path, "--app", "demo", "--dry-run", "--json")
            var highest = 0
            try eventually(timeout: .seconds(200), "it ends; it said: \(program.log)") {
                highest = max(highest, peak(program))
                return program.hasEnded
            }
            #expect(try program.wait() == 0, "\(program.log)")
            return (highest, program.document?["rows"]?.intValue ?? 0)
        }
        let short = try measure(2)
        let long = try measure(48)
        #expect(short.rows == 6000 && long.rows == 144_000)
        // 144,000 rows are 30 MB.
        #expect(short.peak > 0 && long.peak < short.peak + 12_000, "\(short.peak) kB, \(long.peak) kB")
    }
}
