extension JSON {
    /// The text is nested deeper than is read.
    package struct TooDeep: Error {}

    /// Parses UTF-8 text that a stranger wrote. Foundation's decoder takes longer for a value the deeper it lies, up to a
    /// minute for a megabyte of brackets: what is nested deeper than any real document is refused before.
    ///
    /// - Parameter deepest: how many arrays and objects may lie in each other.
    package init(parsing bytes: [UInt8], deepest: Int) throws {
        guard JSON.isNested(bytes, atMost: deepest) else { throw TooDeep() }
        try self.init(parsing: bytes)
    }

    /// Brackets outside of strings; whether the rest is JSON is for the decoder to say.
    private static func isNested(_ bytes: [UInt8], atMost deepest: Int) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > deepest { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }
}
