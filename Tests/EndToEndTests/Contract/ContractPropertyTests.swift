import Base
import TestSupport
import Testing

/// schemathesis: what a contract allows is answered as it says, and what it forbids is refused.
@Suite(
    .serialized, .enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"),
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ContractPropertyTests {
    /// Requests of each operation that are allowed, and as many that are not.
    private static let examples: Int64 = 15

    private func find(
        _ scene: APIScene, _ file: String, prefix: String, only: [String]? = nil, publicKeyFor: [String]
    ) throws -> [String: String] {
        let id = try scene.makeCustomer()
        var keys = publicKeyFor.map { JSON.Member(name: $0, value: .string(APIScene.publicKey)) }
        keys.append(JSON.Member(name: "", value: .string(APIScene.secretKey)))
        let said = try ContractFiles.run(
            "properties.py", [file],
            input: .object([
                "base_url": .string(scene.baseURL), "prefix": .string(prefix), "keys": .object(keys),
                "only": only.map { .strings($0) } ?? .null, "examples": .int(Self.examples),
                "values": .object([
                    "app_user_id": .strings([id]), "entitlement_identifier": .strings(["pro", "basic"]),
                    "offering_uuid": .strings(["default", "sale"]),
                ]),
            ]))
        #expect(said["calls"]?.intValue ?? 0 > 2 * Self.examples)
        return (said["found"]?.members ?? []).reduce(into: [:]) { $0[$1.name] = $1.value.stringValue }
    }

    @Test(.timeLimit(.minutes(3)))
    func `whatever our contract allows or forbids is answered as it says`() throws {
        let scene = try APIScene()
        let document = try ContractFiles.read().document
        // Of the other listener; its requests are Apple's to make.
        let operations = document.operations.keys.filter { !$0.hasSuffix("/apple/notifications") }.sorted()
        let found = try find(
            scene, ContractFiles.contract, prefix: "", only: operations,
            publicKeyFor: ["GET /v1/subscribers/{app_user_id}/offerings"])
        for (name, example) in found where KnownDifferences.ours[name] == nil { Issue.record("\(name): \(example)") }
    }

    @Test(
        .timeLimit(.minutes(3)), .enabled(if: ContractFiles.isSharedHere, "\(ContractFiles.sharedAbsence)"))
    func `what we share with RevenueCat's API is answered as its document says`() throws {
        let scene = try APIScene()
        let found = try find(
            scene, ContractFiles.revenueCat, prefix: "/v1",
            publicKeyFor: ["GET /subscribers/{app_user_id}/offerings"])
        for (name, example) in found where KnownDifferences.theirs[name] == nil { Issue.record("\(name): \(example)") }
    }
}
