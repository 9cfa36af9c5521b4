import Base
import StoreSimulator
import TestSupport
import Testing

/// One Apple account and one address at their worst, with the public key that every copy of the app carries.
///
/// Serialised: requests in a second are counted.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct LimitTests {
    private static let key = "appl_a_public_key_for_tests"

    private func site(_ limits: [String: JSON] = [:]) throws -> Site {
        let site = try Site(TestCluster.shared.makeDatabase())
        var api: [String: JSON] = ["listen": .string("127.0.0.1:0"), "public_keys": .strings([Self.key])]
        if !limits.isEmpty {
            api["limits"] = .object(
                limits.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
        }
        try site.configure([
            "api": .object(api.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
        ])
        try site.run("migrate")
        return site
    }

    private func port(_ program: Program) throws -> UInt16 {
        try #require(try program.address("api").split(separator: ":").last.flatMap { UInt16($0) })
    }

    /// - Parameter address: of the client, as a proxy on this host tells it.
    private func call(
        _ method: String, _ path: String, _ body: JSON? = nil, from address: String, to port: UInt16
    ) -> HTTPCall {
        HTTPCall.send(
            method, path, headers: ["Authorization": "Bearer \(Self.key)", "X-Forwarded-For": address],
            body: body?.bytes ?? [], to: port)
    }

    /// - Parameter pki: that signs it; nil: that of the site.
    private func receipt(_ site: Site, _ seed: UInt64, by pki: StorePKI? = nil) throws -> String {
        var life = SubscriberLife(app: Site.app, seed: seed, withToken: false)
        let started = life.start(at: SystemClock().now() - StoreProduct.day)
        return try NotificationSigner(pki ?? site.pki).sign(try #require(started.transaction))
    }

    private static func body(_ id: String, _ receipt: String) -> JSON {
        .object(["app_user_id": .string(id), "fetch_token": .string(receipt)])
    }

    @Test func `an Apple account that is posted without end is told to come again, and others are not`() throws {
        let site = try site()
        let run = try [site.start("worker"), site.start("api")]
        defer { for program in run { program.kill(15) } }
        let port = try port(run[1])
        let (mine, other) = (try receipt(site, 930), try receipt(site, 931))
        let floods = (0..<8).map { number in
            TestThread {
                (0..<40).map { turn in
                    call(
                        "POST", "/v1/receipts", Self.body("flood-\((number + turn) % 2)", mine), from: "203.0.113.7",
                        to: port)
                }
            }
        }
        let beside = (0..<10).map { number in
            call("POST", "/v1/receipts", Self.body("user-\(number)", other), from: "198.51.100.1", to: port).status
        }
        let answers = try floods.flatMap { try $0.value(timeout: .seconds(120)) }
        #expect(beside == Array(repeating: 200, count: 10))
        let limited = answers.filter { $0.json["message"]?.stringValue?.hasPrefix("Too many requests") ?? false }
        #expect(!limited.isEmpty && limited.count < answers.count)
        // Never anything but a 5xx: an app would finish its transaction.
        #expect(limited.allSatisfy { $0.status == 503 && $0.header("retry-after") != nil && $0.json["code"] != nil })
        // Of two ids that take the purchase from each other, one may be told that the other has it by now.
        #expect(answers.allSatisfy { [200, 503].contains($0.status) || $0.json["code"] == .int(7102) })
    }

    @Test func `forged transactions that name an Apple account do not have its genuine ones refused`() throws {
        let site = try site(["apple_account": .string("20/24h")])
        let run = try [site.start("worker"), site.start("api")]
        defer { for program in run { program.kill(15) } }
        let port = try port(run[1])
        let stranger = try StorePKI.generate(now: SystemClock().now())
        let (genuine, forged) = (try receipt(site, 933), try receipt(site, 933, by: stranger))
        for number in 0..<12 {
            let answer = call(
                "POST", "/v1/receipts", Self.body("user-1", forged), from: "203.0.113.\(number)", to: port)
            #expect(answer.status == 400 && answer.json["code"] == .int(7103), "\(answer.text)")
        }
        let answers = (0..<6).map { _ in
            call("POST", "/v1/receipts", Self.body("user-1", genuine), from: "198.51.100.1", to: port)
        }
        #expect(answers.first?.status == 200)
        // Only these used it up.
        #expect(answers.last?.status == 503)
        #expect(answers.last?.json["message"]?.stringValue?.hasPrefix("Too many requests") == true)
    }

    @Test func `what is signed cannot be hidden from limits in a large body`() throws {
        let site = try site()
        let api = try site.start("api")
        defer { api.kill(15) }
        let body = Self.body("user-1", try receipt(site, 932)).members ?? []
        let padded = JSON.object(
            body + [JSON.Member(name: "x", value: .string(String(repeating: "x", count: 131_072)))])
        let answer = try call("POST", "/v1/receipts", padded, from: "203.0.113.7", to: port(api))
        #expect(answer.status == 413 && answer.json["code"] == .int(7226))
    }
}
