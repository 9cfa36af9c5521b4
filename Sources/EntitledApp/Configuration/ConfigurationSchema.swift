import Base
import Daemon

/// The form of the file as JSON Schema (draft 2020-12), for editors. It follows the list of keys.
package enum ConfigurationSchema {
    package static var document: JSON {
        var members: [JSON.Member] = [
            .init(name: "$schema", value: .string("https://json-schema.org/draft/2020-12/schema")),
            .init(name: "title", value: .string("entitled.json5")),
        ]
        members += section("").members ?? []
        return .object(members)
    }

    private static func section(_ path: String) -> JSON {
        let prefix = path.isEmpty ? "" : path + "."
        var properties: [JSON.Member] = []
        var required: [String] = []
        for name in ConfigurationKeys.names(in: path) {
            let inner = prefix + name
            let schema: JSON
            if let entry = ConfigurationKeys.entry(inner) {
                schema = key(entry)
                if entry.isRequired { required.append(name) }
            } else if ConfigurationKeys.sections[inner + "[]"] != nil {
                schema = .object(["type": .string("array"), "items": section(inner + "[]")])
            } else if ConfigurationKeys.sections[inner]?.kind == .optional {
                schema = .object(["anyOf": .array([section(inner), .object(["type": .string("null")])])])
            } else {
                schema = section(inner)
            }
            properties.append(.init(name: name, value: schema))
        }
        return .object([
            "type": .string("object"),
            "description": path.isEmpty
                ? .string("The configuration of entitled.")
                : ConfigurationKeys.sections[path].map { .string($0.comment) },
            "properties": .object(properties), "required": required.isEmpty ? nil : .strings(required),
            "additionalProperties": .bool(false),
        ])
    }

    private static func key(_ entry: ConfigurationEntry) -> JSON {
        var members: [JSON.Member] = [
            .init(name: "description", value: .string("\(entry.comment) Allowed: \(entry.allowed)."))
        ]
        members += entry.schema.members ?? []
        if let fallback = entry.fallback {
            members.append(.init(name: "default", value: fallback))
        }
        return .object(members)
    }
}
