import Base

/// What clients that were written for one contract would find broken in another: not every difference, but those that
/// a reader of answers or a writer of requests can stumble over.
struct ContractComparison {
    let old: ContractDocument
    let new: ContractDocument

    /// What is broken, each with where; sorted.
    var breaks: [String] {
        let (before, after) = (old.operations, new.operations)
        return before.values.flatMap { operation in
            after[operation.name].map { compare(operation, $0) } ?? ["\(operation.name): gone"]
        }.sorted()
    }

    private func compare(_ before: ContractDocument.Operation, _ after: ContractDocument.Operation) -> [String] {
        let found =
            parameters(before, after) + requestBody(before, after) + answers(before, after) + keys(before, after)
        return found.map { "\(before.name): \($0)" }
    }

    private var requests: SchemaComparison { SchemaComparison(old: old, new: new, direction: .request) }
    private var replies: SchemaComparison { SchemaComparison(old: old, new: new, direction: .answer) }

    // MARK: - Requests

    private func parameters(
        _ before: ContractDocument.Operation, _ after: ContractDocument.Operation
    ) -> [String] {
        let gone = before.parameters.keys.filter { after.parameters[$0] == nil }.map { "\($0): not read any more" }
        let changed = after.parameters.flatMap { name, parameter -> [String] in
            let earlier = before.parameters[name]
            let isNeeded = parameter["required"]?.boolValue == true && earlier?["required"]?.boolValue != true
            let schema = earlier.map {
                requests.breaks($0["schema"] ?? .null, parameter["schema"] ?? .null, at: name)
            }
            return (isNeeded ? ["\(name): needed now"] : []) + (schema ?? [])
        }
        return gone + changed
    }

    private func requestBody(
        _ before: ContractDocument.Operation, _ after: ContractDocument.Operation
    ) -> [String] {
        let earlier = before.description["requestBody"].map(old.resolved)
        let later = after.description["requestBody"].map(new.resolved)
        let isNeeded = later?["required"]?.boolValue == true && earlier?["required"]?.boolValue != true
        guard let earlier else { return isNeeded ? ["a body is needed now"] : [] }
        guard let later else { return ["the body is not read any more"] }
        return (isNeeded ? ["a body is needed now"] : []) + content(earlier, later, requests, "request")
    }

    /// Each way to authenticate must go on to do.
    private func keys(_ before: ContractDocument.Operation, _ after: ContractDocument.Operation) -> [String] {
        func ways(_ operation: ContractDocument.Operation, _ document: ContractDocument) -> [Set<String>] {
            let listed = operation.description["security"] ?? document.root["security"]
            let found = (listed?.arrayValue ?? []).map { Set(($0.members ?? []).map(\.name)) }
            return found.isEmpty ? [[]] : found
        }
        let later = ways(after, new)
        let refused = ways(before, old).filter { way in !later.contains { $0.isSubset(of: way) } }
        return refused.map { way in
            way.isEmpty ? "needs a key now" : "\(way.sorted().joined(separator: " and ")) does not do any more"
        }
    }

    // MARK: - Answers

    private func answers(_ before: ContractDocument.Operation, _ after: ContractDocument.Operation) -> [String] {
        let earlier = (before.description["responses"]?.members ?? [])
        let later = (after.description["responses"]?.members ?? [])
        // Clients tell success by its number: a new one is as good as a change of the old one.
        let added = later.filter { answer in
            answer.name.hasPrefix("2") && !earlier.contains { $0.name == answer.name }
        }
        return added.map { "answers \($0.name) now" }
            + earlier.flatMap { answer -> [String] in
                guard let now = later.first(where: { $0.name == answer.name }) else {
                    return ["does not answer \(answer.name) any more"]
                }
                return self.answer(old.resolved(answer.value), new.resolved(now.value), answer.name)
            }
    }

    private func answer(_ before: JSON, _ after: JSON, _ status: String) -> [String] {
        let headers = (before["headers"]?.members ?? []).map { $0.name.lowercased() }
        let now = Set((after["headers"]?.members ?? []).map { $0.name.lowercased() })
        return headers.filter { !now.contains($0) }.map { "\(status) has no \($0) any more" }
            + content(before, after, replies, status)
    }

    /// - Parameter place: `request`, or the status of the answer.
    private func content(_ before: JSON, _ after: JSON, _ schemas: SchemaComparison, _ place: String) -> [String] {
        (before["content"]?.members ?? []).flatMap { type -> [String] in
            guard let now = after["content"]?[type.name] else { return ["\(place) is not \(type.name) any more"] }
            return schemas.breaks(type.value["schema"] ?? .object([]), now["schema"] ?? .object([]), at: "\(place) $")
        }
    }
}
