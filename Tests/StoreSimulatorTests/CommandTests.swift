import Base
import CLI
import Daemon
import Foundation
import Testing

@testable import StoreSimulator

@Suite struct CommandTests {
    /// The output of a command, and its complaints.
    private static func run(_ words: [String]) -> (status: Int32, lines: [String], notes: String) {
        let output = Monitor<(bytes: [UInt8], notes: [UInt8])>(([], []))
        let terminal = Terminal(program: "storesim", isInteractive: false) { bytes in
            output.change { $0.bytes += bytes }
        } errors: { bytes in
            output.change { $0.notes += bytes }
        }
        let status = StoresimProgram.run(words, terminal)
        let (bytes, notes) = output.read { $0 }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        return (status, lines, String(decoding: notes, as: UTF8.self))
    }

    @Test(arguments: [
        ("dance", "unknown command 'dance'"), ("pki", "needs --out DIR"),
        ("pki --out", "--out of storesim pki needs a text"), ("pki --out a --out b", "is given twice"),
        ("pki --out a --bad", "unknown option --bad"), ("pki --out a more", "one argument too many: 'more'"),
        ("pki --out a --force=yes", "takes no value"), ("pki --out a --name=", "--name of storesim pki cannot be ''"),
        ("sign --pki p", "needs FILE|-"), ("sign - - --pki p", "too many: '-'"), ("sign -", "needs --pki DIR"),
        ("sign - --pki p --kind poem", "one of notification, transaction, renewal"),
        ("sign - --pki p --kind renewal --body", "--body is for notifications only"),
        ("play --to http://h/", "needs --pki DIR"), ("play --pki p", "needs --to"),
        ("play --pki p --to https://h/", "cannot be 'https://h/'; allowed: http://HOST"),
        ("play --pki p --to ftp://h", "allowed: http://HOST"), ("play --pki p --dry-run", "needs --out"),
        ("play --pki p --dry-run --out d --to http://h/", "--to is of no use"),
        ("play --pki p --to http://h/ --out d", "--out is for --dry-run"),
        ("play --pki p --to http://h/ --subscribers 0", "cannot be '0'; allowed: a whole number from 1"),
        ("play --pki p --to http://h/ --subscribers many", "allowed: a whole number"),
        ("play --pki p --to http://h/ --connections 1001", "a whole number from 1 to 1000"),
        ("play --pki p --to http://h/ --duplicates 101", "from 0 to 100"),
        ("play --pki p --to http://h/ --rate -1", "allowed: a number from 0"),
        ("play --pki p --to http://h/ --rate nan", "allowed: a number from 0"),
        ("play --pki p --to http://h/ --scenario nope", "one of mixed, year, every-kind, story"),
        ("play --pki p --to http://h/ --live", "--live is for --scenario story"),
        ("play --pki p --to http://h/ --live --scenario story --rate 1", "without --shuffle and --rate"),
        ("play --pki p --to http://h/ --environment Xcode", "allowed: Sandbox or Production"),
        ("play --pki p --to http://h/ --retry-schedule 1s,soon", "allowed: a list of durations"),
        ("play --pki p --to http://h/ --retry-schedule 1s,", "allowed: a list of durations"),
        ("play --pki p --to http://h/ --at yesterday", "allowed: a time in ISO 8601"),
        ("play --pki p --to http://h/ --timeout 0s", "allowed: a duration"),
        ("play --pki p --to http://h/ --lines --quiet", "cannot be combined"),
        ("receive --listen here", "allowed: HOST:PORT"), ("receive --secret abc", "--secret is not whsec_"),
        ("receive --status 99", "allowed: a status"), ("receive --fail-first x", "allowed: a whole number"),
        ("receive --fail-first 1 --status 500", "cannot be combined"),
        ("serve --environment Xcode", "allowed: Sandbox or Production"), ("serve --to https://h/", "allowed: http"),
        ("serve --speed 0", "allowed: a number above 0"), ("serve --lost 101", "from 0 to 100"),
        ("serve --fault dance", "allowed: KIND[:PERCENT][@PATH]"), ("serve --fault error:101", "allowed: KIND"),
        ("serve --fault outage", "allowed: KIND"), ("serve --retry-schedule 1h,", "allowed: a list of durations"),
        ("serve --port 70000", "from 0 to 65535"), ("serve --requests-per-second 0", "from 1 to"),
    ])
    func `wrong use is one line and status 2`(line: String, wanted: String) {
        let (status, lines, notes) = CommandTests.run(line.split(separator: " ").map(String.init))
        #expect(status == 2)
        #expect(lines.isEmpty)
        #expect(notes.contains(wanted), "\(notes)")
        #expect(notes.filter(\.isNewline).count == 1 && notes.hasPrefix("storesim"))
    }

    @Test(arguments: [
        ["--help"], ["pki", "--help"], ["sign", "--help"], ["play", "--help"], ["receive", "-h"], ["serve", "-h"],
    ])
    func `help is on every level`(arguments: [String]) {
        let (status, lines, notes) = CommandTests.run(arguments)
        #expect(status == 0 && notes.isEmpty)
        #expect(lines.joined().contains("Usage: storesim"))
    }

    @Test func `what cannot be done is one line and status 1`() {
        let (status, _, notes) = CommandTests.run(["play", "--pki", "/nowhere", "--to", "http://127.0.0.1:1/"])
        #expect(status == 1)
        #expect(notes == "storesim: /nowhere/root.pem: No such file or directory\n")
    }

    @Test func `pki tells the fingerprint to trust, and refuses to replace`() throws {
        let folder = try TemporaryFolder()
        let out = "\(folder.path)/deep/pki"
        let (status, lines, _) = CommandTests.run(["pki", "--out", out, "--name", "Demo"])
        #expect(status == 0)
        let fingerprint = try PKIFolder(out).load().rootFingerprint
        #expect(lines.joined().contains("trust: { root_sha256: [\"\(fingerprint)\"] }"))
        let again = CommandTests.run(["pki", "--out", out])
        #expect(again.status == 1 && again.notes.contains("--force"))
        let forced = CommandTests.run(["pki", "--out", out, "--force", "--json"])
        #expect(forced.status == 0)
        let said = try JSON(parsing: Array(forced.lines.joined().utf8))
        #expect(said["root_sha256"]?.stringValue == (try PKIFolder(out).load().rootFingerprint))
    }

    @Test func `sign makes a body, and a JWS of each nested object`() throws {
        let folder = try TemporaryFolder()
        try PKIFolder("\(folder.path)/pki").write(try SigningTests.pki.get())
        let payload =
            #"{"notificationType":"TEST","data":{"bundleId":"a","signedTransactionInfo":{"transactionId":"1"}}}"#
        let file = try folder.write("payload.json", payload.utf8)
        let (status, lines, _) = CommandTests.run(["sign", file, "--pki", "\(folder.path)/pki", "--body"])
        #expect(status == 0 && lines.count == 1)
        let signed = try JWSReading.payload(body: Array(lines[0].utf8))
        let nested = try #require(signed["data"]?["signedTransactionInfo"]?.stringValue)
        #expect(try JWSReading.parts(nested).payload["transactionId"]?.stringValue == "1")
        let plain = CommandTests.run(["sign", file, "--pki=\(folder.path)/pki", "--kind=transaction"])
        #expect(plain.lines.first?.split(separator: ".")[1] == Substring(Base64.encodeURL(Array(payload.utf8))))
        let bad = CommandTests.run(["sign", try folder.write("bad", "[1]".utf8), "--pki", "\(folder.path)/pki"])
        #expect(bad.status == 1 && bad.notes.contains("holds no JSON object"))
    }

    @Test func `a dry run writes one body for each notification`() throws {
        let folder = try TemporaryFolder()
        try PKIFolder("\(folder.path)/pki").write(try SigningTests.pki.get())
        let out = "\(folder.path)/out"
        let (status, lines, _) = CommandTests.run([
            "play", "--pki", "\(folder.path)/pki", "--dry-run", "--out", out, "--scenario", "year", "--seed", "1",
            "--at",
            "2026-11-01T00:00:00Z", "--json",
        ])
        let wanted = Scenario.year.notifications(app: StoreApp(), seed: 1, number: 0, until: testNow)
        #expect(status == 0)
        #expect(lines == [#"{"written":\#(wanted.count),"dir":"\#(out)"}"#])
        let files = try FileManager.default.contentsOfDirectory(atPath: out).sorted()
        #expect(files.first == "000001-\(wanted[0].name).json" && files.count == wanted.count)
        let body = try Data(contentsOf: URL(fileURLWithPath: "\(out)/\(files[0])"))
        #expect(try JWSReading.payload(body: Array(body))["notificationUUID"]?.stringValue == wanted[0].uuid)
    }
}
