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
    @Test(.timeLimit(.minutes(3)))
    func `two clients of RevenueCat's REST API read every kind of purchase, and write what they can`() throws {
        let scene = try APIFixture()
        let id = try scene.makeCustomer()
        let granted = scene.call(
            "POST", "/v1/subscribers/\(id)/entitlements/basic/promotional", .object(["duration": .string("monthly")]))
        #expect(granted.status == 201, "\(granted.text)")
        let colour: JSON = .object(["value": .string("green"), "updated_at_ms": .int(1_767_225_600_000)])
        let attributes = scene.call(
            "POST", "/v1/subscribers/\(id)/attributes", .object(["attributes": .object(["favourite_colour": colour])]))
        #expect(attributes.status == 200, "\(attributes.text)")
        let said = try ContractFiles.run(
            "clients.py", [],
            input: .object([
                "base_url": .string(scene.baseURL), "public_key": .string(APIFixture.publicKey),
                "secret_key": .string(APIFixture.secretKey), "customer": .string(id),
                "transaction": .string(try scene.transaction(seed: 850)),
            ]))
        for failure in said["failed"]?.members ?? [] {
            Issue.record("\(failure.name): \(failure.value.stringValue ?? "")")
        }
        #expect(said["passed"]?.arrayValue?.count == 14)
        #expect(try scene.judge().faults == [])
    }
}
