import Base
import TestSupport
import Testing

/// schemathesis: what a contract allows is answered as it says, and what it forbids is refused.
///
/// Serialised: each test runs a Python program that takes a processor.
@Suite(
    .serialized, .enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"),
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ContractPropertyTests {
    /// Requests of each operation that are allowed, and as many that are not; the same in each run.
    private static let examples: Int64 = 20

    /// What properties.py finds of this contract, with an example of each.
    ///
    /// - Parameters:
    ///   - file: the contract.
    ///   - more: what it is given besides.
    private func find(
        _ scene: APIFixture, _ file: String, _ more: KeyValuePairs<String, JSON?>
    ) throws -> [String: String] {
        let id = try scene.makeCustomer()
        // The one operation that is for apps only, by its two names.
        let appsOnly = ["/v1/subscribers", "/subscribers"].map { "GET \($0)/{app_user_id}/offerings" }
        let keys =
            appsOnly.map { JSON.Member(name: $0, value: .string(APIFixture.publicKey)) }
            + [JSON.Member(name: "", value: .string(APIFixture.secretKey))]
        let input: JSON = .object([
            "base_url": .string(scene.baseURL), "keys": .object(keys), "examples": .int(Self.examples),
            "values": .object([
                "app_user_id": .strings([id]), "entitlement_identifier": .strings(["pro", "basic"]),
                "offering_uuid": .strings(["default", "sale"]), "customer_id": .strings([id]),
                "entitlement_id": .strings(["pro", "basic"]), "offering_id": .strings(["default", "sale"]),
            ]),
        ])
        let all = (input.members ?? []) + (JSON.object(more).members ?? [])
        let said = try ContractFiles.run("properties.py", [file], input: .object(all))
        #expect(said["calls"]?.intValue ?? 0 > 100)
        return (said["found"]?.members ?? []).reduce(into: [:]) { $0[$1.name] = $1.value.stringValue }
    }

    private func expect(_ found: [String: String], only known: [KnownDifference]) {
        for (name, example) in found where !known.contains(where: { $0.covers(name) }) {
            Issue.record("\(name): \(example)")
        }
    }

    @Test func `whatever our contract allows or forbids is answered as it says`() throws {
        let document = try ContractFiles.read().document
        // Of the other listener; its requests are Apple's to make.
        let operations = document.operations.keys.filter { !$0.hasSuffix("/apple/notifications") }.sorted()
        let found = try find(
            try APIFixture(), ContractFiles.contract,
            [
                "prefix": .string(""), "only": .strings(operations), "parameters": .object([]), "nullable": .array([]),
            ])
        expect(found, only: KnownDifference.ours)
    }

    @Test func `whatever the contract of the operator API allows or forbids is answered as it says`() throws {
        let scene = try APIFixture(["reports": .object(["refresh": .string("1m")])])
        let id = try scene.makeCustomer()
        try scene.site.run("users", "add", "anna", "--role", "operator")
        let made = try scene.site.run("users", "key", "anna", "--json").document
        let input: JSON = .object([
            "base_url": .string("http://127.0.0.1:\(try scene.consolePort())"), "prefix": .string(""), "only": .null,
            "keys": .object([JSON.Member(name: "", value: try #require(made?["key"]))]),
            "examples": .int(Self.examples), "parameters": .object([]), "nullable": .array([]),
            "values": .object([
                "id": .strings([id]), "app": .strings(["demo"]), "environment": .strings(["Production"]),
            ]),
        ])
        let said = try ContractFiles.run("properties.py", [ContractFiles.operators], input: input)
        #expect(said["calls"]?.intValue ?? 0 > 500)
        let found = (said["found"]?.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }
        expect(Dictionary(uniqueKeysWithValues: found), only: KnownDifference.operators)
    }

    @Test(.enabled(if: ContractFiles.isSharedHere, "\(ContractFiles.sharedAbsence)"))
    func `what we share with RevenueCat's API is answered as its document says`() throws {
        let ours = try ContractFiles.read().document
        let found = try find(
            try APIFixture(), ContractFiles.revenueCat,
            [
                "prefix": .string("/v1"), "only": .null,
                // There any text is an app user id.
                "parameters": .object(["app_user_id": ours.root["components"]?["schemas"]?["AppUserID"]]),
                "nullable": .array(KnownDifference.nullable.map { .strings($0) }),
            ])
        expect(found, only: KnownDifference.theirs)
    }
}
