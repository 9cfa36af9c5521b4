import Daemon

/// Standing still between two questions.
enum Pause {
    static func wait(_ time: Duration) {
        _ = Monitor(()).wait(timeout: time) { _ -> Bool? in nil }
    }
}
