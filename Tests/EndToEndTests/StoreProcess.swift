import Base
import Daemon
import HTTP
import TestSupport

/// `storesim serve` as a process: Apple's side of one app, in the sandbox.
final class StoreProcess: Sendable {
    private static var path: String { Program.path.replacing(/entitled$/, with: "storesim") }

    private let program: Program
    private let client: HTTPClient
    private let document: JSON

    /// - Parameters:
    ///   - name: of the folder of its certificates and keys.
    ///   - options: more of its command line.
    init(_ folder: String, _ name: String = "store", _ options: String...) throws {
        let program = try Program(
            running: [Self.path, "serve", "--dir", "\(folder)/\(name)", "--json"] + options, folder: folder)
        try eventually("the store listens") { program.document?["base_url"] != nil }
        guard let document = program.document else { throw TestFailure("the store said nothing") }
        (self.program, self.document) = (program, document)
        client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }, responseLimit: 64 << 20),
            logger: .silent, metrics: Metrics())
        client.start()
    }

    deinit {
        client.stop()
    }

    func text(_ name: String) -> JSON { document[name] ?? .null }

    /// The keys of `server_api`.
    ///
    /// - Parameter changes: what it has besides, or otherwise.
    func access(_ changes: [String: JSON] = [:]) -> JSON {
        let own = ["issuer_id", "key_id", "private_key_file", "base_url"].map { ($0, text($0)) }
        let all = Dictionary(uniqueKeysWithValues: own).merging(changes) { _, new in new }
        return .object(all.map { JSON.Member(name: $0.key, value: $0.value) })
    }

    /// An app of the configuration.
    func app(_ id: String, access changes: [String: JSON] = [:]) -> JSON {
        .object([
            "id": .string(id), "bundle_id": text("bundle_id"), "apple_app_id": text("apple_app_id"),
            "environments": .strings(["Sandbox"]), "server_api": access(changes),
        ])
    }

    private func control(_ path: String, method: String = "GET") throws -> JSON {
        let url = "\(text("base_url").stringValue ?? "")/control/\(path)"
        guard case .response(let response) = client.sendAndWait(OutgoingRequest(url: url, method: method)) else {
            throw TestFailure("no answer of the store")
        }
        return response.body.isEmpty ? .null : try JSON(parsing: response.body)
    }

    /// The original transaction ids of all customers' purchases.
    func originals() throws -> [String] {
        let customers = try control("customers")["customers"]?.arrayValue ?? []
        return customers.flatMap { $0["purchase_ids"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    /// Requests so far.
    func calls() throws -> Int { try control("calls")["calls"]?.arrayValue?.count ?? 0 }
}

extension Site {
    /// With these stores as Apple of these apps.
    func configure(_ apps: [JSON], of stores: [StoreProcess]) throws {
        try configure([
            "trust": .object(["root_sha256": .array(stores.map { $0.text("root_sha256") })]), "apps": .array(apps),
        ])
    }
}
