import Base
import CLI

/// What a change would come to, by the operator API, for the question before it.
enum PreviewLines {
    /// A line for each thing that is so now; with what becomes of it, where that is another thing.
    static func lines(_ preview: JSON) -> [String] {
        let (before, after) = (preview["before"]?.members ?? [], preview["after"])
        let width = before.map(\.name.count).max() ?? 0
        let rows = before.compactMap { member -> String? in
            let (now, then) = (text(member.value), after?[member.name].map(text) ?? "")
            guard !now.isEmpty || !then.isEmpty else { return nil }
            let name = member.name.replacing("_", with: " ")
            let change = now == then ? now : "\(now.isEmpty ? "-" : now) → \(then.isEmpty ? "-" : then)"
            return name + String(repeating: " ", count: max(0, width - name.count) + 2) + change
        }
        return (preview["refusal"]?.stringValue.map { ["It would be refused. \($0)"] } ?? []) + rows
    }

    private static func text(_ value: JSON) -> String {
        switch value {
        case .null: ""
        case .object:
            (value["value"]?.intValue).map { "\($0)\(value["is_capped"] == .bool(true) ? "+" : "")" } ?? value.text
        case .array(let values): values.map { $0.stringValue ?? $0.text }.joined(separator: ", ")
        default: value.stringValue ?? value.text
        }
    }
}
