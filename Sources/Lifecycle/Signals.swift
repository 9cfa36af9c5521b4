import Glibc

/// SIGTERM and SIGINT, taken by waiting instead of by a handler: call `block` before any thread is started.
package enum Signals {
    package static let terminate = SIGTERM

    /// No thread started from now on is interrupted by them. SIGPIPE is ignored: writes say EPIPE instead.
    package static func block() {
        signal(SIGPIPE, SIG_IGN)
        var set = ending()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    static func restore() {
        var set = ending()
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Waits for one of them; its name.
    package static func wait() -> String {
        var set = ending()
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 {}
        return number == SIGINT ? "SIGINT" : "SIGTERM"
    }

    static func raise(_ number: Int32) {
        kill(getpid(), number)
    }

    static func endNow() -> Never {
        _exit(130)
    }

    private static func ending() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }
}
