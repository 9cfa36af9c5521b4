import CEmbedded

/// Files that are part of the program: migrations, contracts, the style sheet.
package enum EmbeddedFile {
    /// - Parameter name: of a file that `embedded.c` lists; another one is a mistake of the programmer's.
    package static func bytes(_ name: StaticString) -> [UInt8] {
        var count = 0
        let bytes = name.withUTF8Buffer { text in
            // A static string ends with a zero.
            entitled_embedded(UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self), &count)
        }
        guard let bytes else { preconditionFailure("embedded.c does not list \(name)") }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The same of a text in UTF-8.
    package static func text(_ name: StaticString) -> String { String(decoding: bytes(name), as: UTF8.self) }
}
