import Base
import TestSupport

/// `storesim serve`, and what an installation needs to ask it.
struct SimulatedApple {
    private let program: Program
    private let document: JSON

    /// - Parameter folder: where it keeps its keys.
    init(_ folder: String) throws {
        let path = Program.path.replacing(/entitled$/, with: "storesim")
        let program = try Program(
            running: [path, "serve", "--dir", "\(folder)/store", "--json", "--seed", "5"], folder: folder)
        try eventually("the store listens") { program.document?["base_url"] != nil }
        self.program = program
        document = program.document ?? .null
    }

    private func said(_ name: String) -> JSON { document[name] ?? .null }

    /// Sections of a configuration.
    var configuration: [String: JSON] {
        [
            "trust": .object(["root_sha256": .array([said("root_sha256")])]),
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": said("bundle_id"), "apple_app_id": said("apple_app_id"),
                    "environments": .strings(["Sandbox"]),
                    "server_api": .object([
                        "issuer_id": said("issuer_id"), "key_id": said("key_id"),
                        "private_key_file": said("private_key_file"), "base_url": said("base_url"),
                    ]),
                ])
            ]),
        ]
    }

    /// Original transaction ids of all subscriptions that it sold.
    func subscriptions() throws -> [String] {
        let port = said("base_url").stringValue?.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let customers = HTTPCall.send("GET", "/control/customers", to: port).json["customers"]?.arrayValue ?? []
        guard !customers.isEmpty else { throw TestFailure("the store has no customers") }
        return customers.flatMap { $0["original_transaction_ids"]?.arrayValue ?? [] }.compactMap(\.stringValue)
    }
}
