import Base
import TestSupport
import Testing

/// Clients and checkers that are not ours, against real processes.
///
/// They come from PyPI by `deploy/python-checks`; without it these tests are skipped.
///
/// Serialised: each test runs a Python program that takes a processor.
@Suite(
    .serialized, .enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"),
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct OtherClientsTests {
    /// One who has bought everything, with a grant and an attribute.
    private func customer(of scene: APIFixture) throws -> String {
        let id = try scene.makeCustomer()
        let granted = scene.call(
            "POST", "/v1/subscribers/\(id)/entitlements/basic/promotional", .object(["duration": .string("monthly")]))
        #expect(granted.status == 201, "\(granted.text)")
        let colour: JSON = .object(["value": .string("green"), "updated_at_ms": .int(1_767_225_600_000)])
        let attributes = scene.call(
            "POST", "/v1/subscribers/\(id)/attributes", .object(["attributes": .object(["favourite_colour": colour])]))
        #expect(attributes.status == 200, "\(attributes.text)")
        return id
    }

    private func expect(_ count: Int, of said: JSON) {
        for failure in said["failed"]?.members ?? [] {
            Issue.record("\(failure.name): \(failure.value.stringValue ?? "")")
        }
        #expect(said["passed"]?.arrayValue?.count == count)
    }

    @Test func `two clients of RevenueCat's REST API read every kind of purchase, and write what they can`() throws {
        let scene = try APIFixture()
        let said = try ContractFiles.run(
            "clients.py", [],
            input: .object([
                "base_url": .string(scene.baseURL), "public_key": .string(APIFixture.publicKey),
                "secret_key": .string(APIFixture.secretKey), "customer": .string(try customer(of: scene)),
                "transaction": .string(try scene.transaction(seed: 850)),
            ]))
        expect(14, of: said)
        #expect(try scene.judge().faults == [])
    }

    @Test func `a client of RevenueCat's REST v2 reads and writes all that it can, and loses no member`() throws {
        let scene = try APIFixture()
        let said = try ContractFiles.run(
            "v2_client.py", [],
            input: .object([
                "base_url": .string(scene.baseURL), "secret_key": .string(APIFixture.secretKey),
                "customer": .string(try customer(of: scene)),
            ]))
        expect(14, of: said)
    }
}
