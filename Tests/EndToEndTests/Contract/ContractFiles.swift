import Base
import Foundation
import TestSupport

/// The contract as the repository has it. YAML is read by PyYAML, so that all of this needs `deploy/python-checks`.
enum ContractFiles {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static let contract = package.appending(path: "schemas/openapi.yaml").path
    /// The operator API's.
    static let operators = package.appending(path: "schemas/operator.yaml").path
    static let released = package.appending(path: "schemas/openapi.released.json")
    /// RevenueCat's own, which is beside the repository and not in it.
    static let revenueCat = shared.appending(path: "openapi-v1.yaml").path
    static let shared = package.deletingLastPathComponent().appending(path: "shared/data/revenuecat")
    static let isSharedHere = FileManager.default.fileExists(atPath: shared.path)
    static let sharedAbsence = "skipped: the data is not here"

    /// What a script beside this file prints, which is JSON.
    static func run(_ script: String, _ arguments: [String]) throws -> JSON {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Python/\(script)").path
        let text = try PythonChecks.run(file: path, arguments)
        do {
            return try JSON(parsing: Array(text.utf8))
        } catch {
            throw TestFailure("\(script) said no JSON: \(text.suffix(2000))")
        }
    }

    /// The same, of a script that is given one more file, with this in it.
    static func run(_ script: String, _ arguments: [String], input: JSON) throws -> JSON {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let file = "\(folder)/input.json"
        try input.text.write(toFile: file, atomically: true, encoding: .utf8)
        return try run(script, arguments + [file])
    }

    /// The names of what a contract describes.
    static func operations(of contract: String) throws -> [String] {
        let said = try run("document.py", [contract])
        return ContractDocument(root: said["document"] ?? .null).operations.keys.sorted()
    }

    struct Reading {
        let document: ContractDocument
        /// What is wrong with it by itself.
        let faults: [String]
        /// As it is kept at a release.
        let released: String
    }

    static func read() throws -> Reading {
        let said = try run("document.py", [contract])
        guard let document = said["document"], let released = said["released"]?.stringValue else {
            throw TestFailure("document.py did not say all")
        }
        return Reading(
            document: ContractDocument(root: document),
            faults: (said["faults"]?.arrayValue ?? []).compactMap(\.stringValue), released: released)
    }
}
