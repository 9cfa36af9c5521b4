import FoundationEssentials

/// The wall clock, as a seam: what decides by the time of day takes one of these, never the system's directly.
package protocol WallClock: Sendable {
    /// Milliseconds since 1970-01-01 UTC.
    func now() -> Int64
}

package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Int64 {
        Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
    }
}
