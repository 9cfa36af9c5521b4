import Base

/// An OpenAPI 3.1 document, as JSON, with its references followed.
struct ContractDocument {
    /// A request that the document describes: `GET /v1/health`.
    struct Operation {
        let name: String
        let description: JSON
        /// Those of the path too, by where they stand and their name: `header X-Platform`.
        let parameters: [String: JSON]
    }

    private static let methods: Set = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

    let root: JSON

    var version: String { root["info"]?["version"]?.stringValue ?? "" }

    /// By name.
    var operations: [String: Operation] {
        var found: [String: Operation] = [:]
        for path in root["paths"]?.members ?? [] {
            let shared = path.value["parameters"]?.arrayValue ?? []
            for member in path.value.members ?? [] where ContractDocument.methods.contains(member.name) {
                let name = "\(member.name.uppercased()) \(path.name)"
                let own = member.value["parameters"]?.arrayValue ?? []
                found[name] = Operation(name: name, description: member.value, parameters: parameters(shared + own))
            }
        }
        return found
    }

    private func parameters(_ list: [JSON]) -> [String: JSON] {
        list.map(resolved).reduce(into: [:]) { found, parameter in
            let (place, name) = (parameter["in"]?.stringValue ?? "", parameter["name"]?.stringValue ?? "")
            // Names of headers have no case.
            found["\(place) \(place == "header" ? name.lowercased() : name)"] = parameter
        }
    }

    /// The value behind a `$ref` (`#/a/b`), with what stands beside it; null where nothing is.
    func resolved(_ value: JSON) -> JSON {
        var value = value
        // A reference to a reference, and no more than the document could have; a circle ends as null.
        for _ in 0..<16 {
            guard let reference = value["$ref"]?.stringValue else { return value }
            let beside = (value.members ?? []).filter { $0.name != "$ref" }
            let names = Set(beside.map(\.name))
            let target = at(reference)
            guard !beside.isEmpty else {
                value = target
                continue
            }
            value = .object((target.members ?? []).filter { !names.contains($0.name) } + beside)
        }
        return .null
    }

    private func at(_ reference: String) -> JSON {
        guard reference.hasPrefix("#/") else { return .null }
        var value = root
        for part in reference.dropFirst(2).split(separator: "/") {
            // RFC 6901 §4.
            let name = part.replacing("~1", with: "/").replacing("~0", with: "~")
            value = value[String(name)] ?? .null
        }
        return value
    }
}
