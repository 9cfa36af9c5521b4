import Base

extension JSON {
    /// The value over several lines, two spaces a level; lists and objects without content stay on one.
    package var indentedText: String {
        var output: [UInt8] = []
        writeIndented(to: &output, level: 0)
        return String(decoding: output, as: UTF8.self)
    }

    private func writeIndented(to output: inout [UInt8], level: Int) {
        switch self {
        case .array(let values) where !values.isEmpty:
            JSON.writeBlock("[", "]", values, to: &output, level: level) { value, output in
                value.writeIndented(to: &output, level: level + 1)
            }
        case .object(let members) where !members.isEmpty:
            JSON.writeBlock("{", "}", members, to: &output, level: level) { member, output in
                JSON.write(member.name, to: &output)
                output += ": ".utf8
                member.value.writeIndented(to: &output, level: level + 1)
            }
        default: write(to: &output)
        }
    }

    private static func writeBlock<Element>(
        _ open: String, _ close: String, _ elements: [Element], to output: inout [UInt8], level: Int,
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        output += open.utf8
        for (index, element) in elements.enumerated() {
            output += (index > 0 ? "," : "").utf8
            newLine(level + 1, &output)
            write(element, &output)
        }
        newLine(level, &output)
        output += close.utf8
    }

    private static func newLine(_ level: Int, _ output: inout [UInt8]) {
        output.append(UInt8(ascii: "\n"))
        output += repeatElement(UInt8(ascii: " "), count: level * 2)
    }
}
