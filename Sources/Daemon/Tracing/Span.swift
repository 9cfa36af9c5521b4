import Base
import Glibc

/// A piece of work with its beginning and end, as OpenTelemetry has it. Its attributes name no person, no address of a
/// page and no secret: kinds, counts, codes and our own ids.
package struct Span: Sendable {
    /// As OTLP numbers them.
    package enum Kind: Int64, Sendable {
        case `internal` = 1, server, client
    }

    package enum Value: Sendable, Equatable {
        case text(String), number(Int64)
    }

    /// ns since 1970.
    package typealias Time = Int64

    package let trace: TraceID
    package let id: SpanID
    package let parent: SpanID?
    package let name: String
    package let kind: Kind
    package let start: Time
    package let end: Time
    package let attributes: KeyValuePairs<String, Value?>
    package let hasFailed: Bool

    package init(
        _ name: String, _ kind: Kind, trace: TraceID, id: SpanID = .random(), parent: SpanID? = nil, start: Time,
        end: Time = Span.now(), attributes: KeyValuePairs<String, Value?> = [:], hasFailed: Bool = false
    ) {
        self.trace = trace
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.start = start
        self.end = max(start, end)
        self.attributes = attributes
        self.hasFailed = hasFailed
    }

    package static func now() -> Time {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// When something was that began so long ago.
    package static func time(_ ago: Duration) -> Time {
        let parts = ago.components
        return now() &- (parts.seconds &* 1_000_000_000 &+ parts.attoseconds / 1_000_000_000)
    }
}
