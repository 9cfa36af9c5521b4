import Glibc
import Markup
import Testing

@testable import Console

@Suite("Style sheet")
struct StyleSheetTests {
    private static let css = String(decoding: StyleSheet.bytes, as: UTF8.self)

    @Test("every class of pages has a rule, and every rule a class")
    func hasClasses() {
        let css = StyleSheetTests.css.replacing(#/\/\*.*?\*\//#, with: "")
        // What stands before a brace is a selector, or a rule that holds others.
        let selectors = css.split(separator: "{").map { $0.split(separator: "}").last ?? "" }
        let named = selectors.flatMap { $0.matches(of: #/\.([a-z][a-z-]*)/#).map { String($0.output.1) } }
        #expect(Set(named) == Set(StyleClass.allCases.map(\.rawValue)))
    }

    @Test("it is small, and loads nothing from elsewhere")
    func isSmall() {
        #expect(StyleSheet.bytes.count <= 25_000)
        #expect(!StyleSheetTests.css.contains("url("))
        #expect(!StyleSheetTests.css.contains("@import"))
    }

    @Test("texts stand out from their grounds by 4.5 to 1, in both colour schemes")
    func hasContrast() throws {
        let schemes = StyleSheetTests.css.matches(of: #/:root \{(?<body>[^}]*)\}/#).map { String($0.output.body) }
        #expect(schemes.count == 2)
        for scheme in schemes {
            var colours: [String: Double] = [:]
            for match in scheme.matches(of: #/--([a-z-]+): #([0-9a-f]{6})/#) {
                colours[String(match.output.1)] = luminance(String(match.output.2))
            }
            func contrast(_ one: String, _ other: String) throws -> Double {
                let (a, b) = (try #require(colours[one]), try #require(colours[other]))
                return (max(a, b) + 0.05) / (min(a, b) + 0.05)
            }
            for text in ["text", "quiet", "accent", "good", "warn", "bad"] {
                for ground in ["ground", "surface", "sunken"] {
                    #expect(try contrast(text, ground) >= 4.5, "\(text) on \(ground)")
                }
            }
            for kind in ["good", "warn", "bad"] { #expect(try contrast(kind, "\(kind)-ground") >= 4.5) }
            #expect(try contrast("on-accent", "accent") >= 4.5)
            // What marks a field (WCAG 2.2, 1.4.11).
            #expect(try contrast("strong-line", "surface") >= 3)
        }
    }

    /// Of WCAG 2.2.
    private func luminance(_ hex: String) -> Double {
        let value = Int(hex, radix: 16) ?? 0
        let parts = [value >> 16, value >> 8 & 0xff, value & 0xff].map { part -> Double in
            let share = Double(part) / 255
            return share > 0.04045 ? pow((share + 0.055) / 1.055, 2.4) : share / 12.92
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }
}
