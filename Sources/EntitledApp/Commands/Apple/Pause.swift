import Daemon

/// Standing still between two questions.
package enum Pause {
    package static func wait(_ time: Duration) {
        _ = Monitor(()).wait(timeout: time) { _ -> Bool? in nil }
    }
}
