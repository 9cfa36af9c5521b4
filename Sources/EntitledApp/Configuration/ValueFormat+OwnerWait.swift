import Base
import Daemon
import Worker

extension ValueFormat where Value == OwnerWait.Setting {
    /// `auto`, or a duration.
    static func ownerWait(_ range: ClosedRange<Duration>) -> ValueFormat<OwnerWait.Setting> {
        .text(
            "\"auto\", or a duration from \(range.lowerBound.text) to \(range.upperBound.text), as in \"30s\" or \"5m\"",
            schema: .textSchema(pattern: "^(auto|[0-9]+(ms|s|m|h|d))$"),
            write: { setting in
                switch setting {
                case .automatic: "auto"
                case .fixed(let wait): Duration.milliseconds(wait).text
                }
            }
        ) { text in
            if text == "auto" { return .automatic }
            return Duration(text: text).flatMap { range.contains($0) ? .fixed($0.milliseconds) : nil }
        }
    }
}
