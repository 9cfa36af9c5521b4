/// Makes the bytes of pages. Everything that is not a name of this module is escaped here, and only here.
package enum HTMLRenderer {
    /// A whole document in UTF-8.
    package static func document(_ root: Node) -> [UInt8] {
        var output = Array("<!DOCTYPE html>\n".utf8)
        write(root, to: &output)
        output.append(UInt8(ascii: "\n"))
        return output
    }

    /// A part of a document.
    package static func fragment(_ node: Node) -> [UInt8] {
        var output: [UInt8] = []
        write(node, to: &output)
        return output
    }

    private static func write(_ node: Node, to output: inout [UInt8]) {
        switch node {
        case .text(let text): escape(text, to: &output)
        case .group(let nodes): for node in nodes { write(node, to: &output) }
        case .element(let element):
            output.append(UInt8(ascii: "<"))
            output += element.tag.name.utf8
            for attribute in element.attributes { write(attribute, to: &output) }
            output.append(UInt8(ascii: ">"))
            guard !element.tag.isVoid else { return }
            // A parser drops one line end here (HTML Standard, 13.1.2.5).
            if element.tag == .pre { output.append(UInt8(ascii: "\n")) }
            for node in element.content { write(node, to: &output) }
            output += "</".utf8
            output += element.tag.name.utf8
            output.append(UInt8(ascii: ">"))
        }
    }

    private static func write(_ attribute: Attribute, to output: inout [UInt8]) {
        output.append(UInt8(ascii: " "))
        output += attribute.name.utf8
        guard let value = attribute.value else { return }
        output += "=\"".utf8
        escape(value, to: &output)
        output.append(UInt8(ascii: "\""))
    }

    private static func escape(_ text: String, to output: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): output += "&amp;".utf8
            case UInt8(ascii: "<"): output += "&lt;".utf8
            case UInt8(ascii: ">"): output += "&gt;".utf8
            case UInt8(ascii: "\""): output += "&quot;".utf8
            case UInt8(ascii: "'"): output += "&#39;".utf8
            // HTML has no reference for these; a parser would change or drop them.
            case 0: output += "\u{FFFD}".utf8
            case 0x0d: output += "&#13;".utf8
            default: output.append(byte)
            }
        }
    }
}
