import Base
import Foundation
import TestSupport
import Testing

/// `schemas/openapi.yaml` by itself, beside the server's routes, and beside the last released one.
@Suite(.enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"))
struct ContractDocumentTests {
    @Test func `the contract is a valid OpenAPI 3_1 document, and its examples fit it`() throws {
        let reading = try ContractFiles.read()
        #expect(reading.faults == [])
        #expect(reading.document.root["openapi"]?.stringValue?.hasPrefix("3.1") == true)
        #expect(reading.document.version == Version.current)
    }

    /// What no route of the REST listener answers: its liveness, and what the other listener does.
    private static let others: Set = ["GET /healthz", "POST /apple/notifications"]

    @Test(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
    func `the contract has every route that the server has, with its keys, and no other`() throws {
        let document = try ContractFiles.read().document
        let site = try Site(nil)
        let routes = try site.run("api", "--routes", "--json").document?["routes"]?.arrayValue ?? []
        let served = Dictionary(
            uniqueKeysWithValues: routes.map { route in
                (Self.unnamed("\(route["method"]?.stringValue ?? "") \(route["path"]?.stringValue ?? "")"), route)
            })
        let unsupported = (document.root["x-unsupported"]?.arrayValue ?? []).compactMap(\.stringValue)
        let described = document.operations.filter { !Self.others.contains($0.key) }
        let known = Set((Array(described.keys) + unsupported).map(Self.unnamed))
        #expect(known.subtracting(served.keys).sorted() == [], "the server does not answer them")
        #expect(Set(served.keys).subtracting(known).sorted() == [], "the contract does not have them")
        for (name, operation) in described {
            guard let route = served[Self.unnamed(name)] else { continue }
            let listed = operation.description["security"] ?? document.root["security"]
            let keys = (listed?.arrayValue ?? []).flatMap { $0.members ?? [] }.map(\.name).sorted()
            let expected: [String] =
                switch route["key"]?.stringValue {
                case "any": ["publicKey", "secretKey"]
                case "public": ["publicKey"]
                case "secret": ["secretKey"]
                default: []
                }
            #expect(keys == expected, "\(name)")
        }
    }

    /// What parameters are called is no matter of who calls.
    private static func unnamed(_ operation: String) -> String { operation.replacing(/{[^}]*}/, with: "{}") }

    /// To keep the contract of a release: `RELEASE_CONTRACT=1 swift test --filter ContractDocumentTests`.
    @Test func `nothing that was released is broken, unless the version says so`() throws {
        let reading = try ContractFiles.read()
        if ProcessInfo.processInfo.environment["RELEASE_CONTRACT"] != nil {
            try reading.released.write(to: ContractFiles.released, atomically: true, encoding: .utf8)
        }
        let released = ContractDocument(root: try JSON(parsing: Array(Data(contentsOf: ContractFiles.released))))
        let breaks = ContractComparison(old: released, new: reading.document).breaks
        #expect(breaks == [] || Self.series(released.version) != Self.series(reading.document.version))
    }

    /// What may break clients when it changes: the major version, before 1.0 the minor one (semver.org §4).
    private static func series(_ version: String) -> [Substring] {
        let parts = version.split(separator: ".")
        return Array(parts.prefix(parts.first == "0" ? 2 : 1))
    }

    /// The comparison finds what is missing in a document of this size, and where.
    @Test func `whatever is taken out of the contract is found`() throws {
        let reading = try ContractFiles.read()
        let whole = reading.document
        #expect(ContractComparison(old: whole, new: whole).breaks == [])
        func breaks(without name: String, _ path: String...) throws -> [String] {
            let less = ContractDocument(root: whole.root.removing(name, at: path[...]))
            return ContractComparison(old: whole, new: less).breaks
        }
        #expect(try breaks(without: "/v1/offers", "paths") == ["POST /v1/offers: gone"])
        let member = try breaks(without: "refunded_at", "components", "schemas", "Subscription", "properties")
        for operation in ["GET /v1/subscribers/{app_user_id}", "POST /v1/receipts"] {
            #expect(member.contains("\(operation): 200 $.subscriber.subscriptions.*.refunded_at: gone"))
        }
        let status = try breaks(without: "201", "paths", "/v1/subscribers/identify", "post", "responses")
        #expect(status == ["POST /v1/subscribers/identify: does not answer 201 any more"])
    }
}

extension JSON {
    /// Without the member of this name in the object at this path.
    fileprivate func removing(_ name: String, at path: ArraySlice<String>) -> JSON {
        guard let next = path.first else { return .object((members ?? []).filter { $0.name != name }) }
        return .object(
            (members ?? []).map { member in
                guard member.name == next else { return member }
                return Member(name: next, value: member.value.removing(name, at: path.dropFirst()))
            })
    }
}
