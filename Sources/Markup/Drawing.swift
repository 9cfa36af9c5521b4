/// Drawings within pages (SVG 2): shapes and texts, without scripts, styles and links.
extension Tag {
    package static let svg = Tag("svg")
    package static let desc = Tag("desc")
    package static let defs = Tag("defs")
    package static let pattern = Tag("pattern")
    package static let g = Tag("g")
    package static let line = Tag("line")
    package static let polyline = Tag("polyline")
    package static let path = Tag("path")
    package static let rect = Tag("rect")
    package static let circle = Tag("circle")
    package static let text = Tag("text")
}

extension Attribute {
    /// A length or a place, in units of the drawing, to a tenth.
    package struct Number: Sendable {
        let text: String

        package init(_ value: Double) {
            let tenths = (value.isFinite ? value * 10 : 0).rounded()
            let whole = Int64(Swift.min(Swift.max(tenths, -1e15), 1e15))
            let (units, rest) = whole.magnitude.quotientAndRemainder(dividingBy: 10)
            text = (whole < 0 ? "-" : "") + "\(units)" + (rest == 0 ? "" : ".\(rest)")
        }
    }

    package enum Axis: Sendable {
        case x, y, x1, y1, x2, y2, cx, cy, r, width, height
    }

    package static func at(_ axis: Axis, _ value: Double) -> Attribute {
        let text = Number(value).text
        return switch axis {
        case .x: Attribute("x", text)
        case .y: Attribute("y", text)
        case .x1: Attribute("x1", text)
        case .y1: Attribute("y1", text)
        case .x2: Attribute("x2", text)
        case .y2: Attribute("y2", text)
        case .cx: Attribute("cx", text)
        case .cy: Attribute("cy", text)
        case .r: Attribute("r", text)
        case .width: Attribute("width", text)
        case .height: Attribute("height", text)
        }
    }

    package static func viewBox(width: Double, height: Double) -> Attribute {
        Attribute("viewBox", "0 0 \(Number(width).text) \(Number(height).text)")
    }

    package static func points(_ points: [(x: Double, y: Double)]) -> Attribute {
        Attribute("points", points.map { "\(Number($0.x).text),\(Number($0.y).text)" }.joined(separator: " "))
    }

    /// A path of straight lines.
    package static func shape(_ points: [(x: Double, y: Double)]) -> Attribute {
        Attribute(
            "d",
            points.enumerated().map { "\($0 == 0 ? "M" : "L")\(Number($1.x).text) \(Number($1.y).text)" }
                .joined())
    }

    /// Lengths of strokes and gaps.
    package static func dashes(_ lengths: [Int]) -> Attribute? {
        lengths.isEmpty ? nil : Attribute("stroke-dasharray", lengths.map(String.init).joined(separator: " "))
    }

    package static func opacity(_ share: Double) -> Attribute {
        let hundredths = Int((Swift.min(Swift.max(share.isFinite ? share : 0, 0), 1) * 100).rounded())
        return Attribute("fill-opacity", hundredths == 100 ? "1" : "0.\(hundredths < 10 ? "0" : "")\(hundredths)")
    }

    /// A pattern of the same page, by its number.
    package static func patternID(_ number: Int) -> Attribute { Attribute("id", "pattern-\(number)") }
    package static func fill(pattern number: Int) -> Attribute { Attribute("fill", "url(#pattern-\(number))") }
    package static let patternInUserSpace = Attribute("patternUnits", "userSpaceOnUse")

    package enum Anchor: String, Sendable { case start, middle, end }
    package static func anchor(_ anchor: Anchor) -> Attribute { Attribute("text-anchor", anchor.rawValue) }
}
