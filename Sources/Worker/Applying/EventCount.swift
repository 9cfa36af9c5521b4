import Daemon
import Database

/// Events that are counted together.
struct EventCount: Hashable {
    let type: String
    let reason: String

    init(_ event: NewEvent) {
        type = event.type
        reason = event.reason ?? ""
    }

    var labels: Metrics.Labels { ["type": type, "reason": reason] }
}
