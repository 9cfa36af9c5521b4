/// Which texts look like another id, or like nothing (UTS #39 §3.1, UAX #31 §2.3).
///
/// Letters of different scripts that look alike are ordinary text, and are taken. What is not seen is refused in new ids alone:
/// ids that a database has already stay usable.
extension AppUserID {
    /// Why a new customer cannot have this id, as the end of a sentence; nil: one can.
    package static func objection(toNew id: String) -> String? { objection(to: id) ?? invisible(in: id) }

    /// What an id has that is not seen, as the end of a sentence; nil: nothing.
    package static func invisible(in id: String) -> String? {
        // Most ids; what is less than a space is refused elsewhere.
        if id.utf8.allSatisfy({ $0 < 0x7f }) { return nil }
        let points = Array(id.unicodeScalars)
        for (place, point) in points.enumerated() {
            if let what = invisible(point), !isNeeded(place, in: points) {
                let digits = String(point.value, radix: 16, uppercase: true)
                return "has \(what): U+\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)"
            }
        }
        return nil
    }

    private static func invisible(_ point: Unicode.Scalar) -> String? {
        let properties = point.properties
        if properties.isNoncharacterCodePoint { return "a code point that is no character" }
        switch properties.generalCategory {
        case .control: return "a control character"
        case .format: return "a format character"
        case .privateUse: return "a character of private use"
        case .surrogate: return "half a character"
        default: break
        }
        if properties.isWhitespace, point != " " { return "a white space that looks like another one" }
        if properties.isDefaultIgnorableCodePoint { return "a character that is not seen" }
        // Braille's blank, and what stands for an object or for damaged text.
        return [0x2800, 0xfffc, 0xfffd].contains(point.value) ? "a character that stands for nothing" : nil
    }

    private static let nonJoiner: UInt32 = 0x200c
    private static let joiner: UInt32 = 0x200d
    private static let textStyle: UInt32 = 0xfe0e
    private static let emojiStyle: UInt32 = 0xfe0f
    private static let keycap: UInt32 = 0x20e3
    private static let blackFlag: UInt32 = 0x1f3f4
    private static let tags: ClosedRange<UInt32> = 0xe0020...0xe007e
    private static let tagsEnd: UInt32 = 0xe007f

    /// Whether it makes another sign of its neighbours: in emoji sequences (UTS #51), and in scripts that join letters.
    private static func isNeeded(_ place: Int, in points: [Unicode.Scalar]) -> Bool {
        let before = place > 0 ? points[place - 1] : nil
        let after = place + 1 < points.count ? points[place + 1] : nil
        switch points[place].value {
        case joiner:
            return isPicture(lastBase(before: place, in: points)) && isPicture(after) || isVirama(before)
        case nonJoiner:
            return isVirama(before) || isArabic(before) && isArabic(after)
        case emojiStyle, textStyle:
            return isPicture(before) || before?.properties.isEmoji == true && after?.value == keycap
        case tags:
            return tagsEnd == points[place...].first { !tags.contains($0.value) }?.value
                && points[..<place].last { !tags.contains($0.value) }?.value == blackFlag
        case tagsEnd:
            return before.map { tags.contains($0.value) } == true
                && points[..<place].last { !tags.contains($0.value) }?.value == blackFlag
        default:
            return false
        }
    }

    /// What a joiner stands behind, apart from style, skin colour and keycap.
    private static func lastBase(before place: Int, in points: [Unicode.Scalar]) -> Unicode.Scalar? {
        points[..<place].last { $0.value != emojiStyle && !$0.properties.isEmojiModifier }
    }

    /// Digits and the like are emoji by Unicode's table, and look as they always do.
    private static func isPicture(_ point: Unicode.Scalar?) -> Bool {
        guard let point else { return false }
        return point.properties.isEmoji && point.value > 0x7f
    }

    private static func isVirama(_ point: Unicode.Scalar?) -> Bool {
        point?.properties.canonicalCombiningClass == .virama
    }

    /// Arabic and Syriac with their supplements, N'Ko and Mandaic: scripts whose letters join.
    private static func isArabic(_ point: Unicode.Scalar?) -> Bool {
        guard let point else { return false }
        return (0x0620...0x08ff).contains(point.value) && point.properties.isAlphabetic
    }
}
