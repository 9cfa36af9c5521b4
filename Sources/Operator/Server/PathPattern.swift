import Base

/// A path with parameters, as documents write it: `/operator/v1/customers/{id}`.
struct PathPattern: Sendable {
    let text: String
    private let segments: [String]

    init(_ text: String) {
        self.text = text
        segments = text.split(separator: "/").map(String.init)
    }

    /// The decoded values of a path that fits; nil where it does not.
    ///
    /// - Parameter parts: of the path, as they came.
    func values(of parts: [Substring]) -> PathValues? {
        guard parts.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (segment, part) in zip(segments, parts) {
            if segment.hasPrefix("{") {
                guard let value = PercentEncoding.decode(part), !value.isEmpty, !value.utf8.contains(0) else {
                    return nil
                }
                values[String(segment.dropFirst().dropLast())] = value
            } else if segment != part {
                return nil
            }
        }
        return PathValues(values: values)
    }

    /// How many segments are words: of two that fit, the one with more of them is meant.
    var exactness: Int { segments.filter { !$0.hasPrefix("{") }.count }

    /// The segments of a path, as they came.
    static func parts(of path: String) -> [Substring] {
        Array(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst())
    }
}
