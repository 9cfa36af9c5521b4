import Base
import Glibc
import Synchronization

/// SIGTERM and SIGINT, taken by waiting instead of by a handler: call `block` before any thread is started.
package enum Signals {
    package static let terminate = SIGTERM

    private static let hangUp = Mutex<(@Sendable () -> Void)?>(nil)

    /// No thread started from now on is interrupted by them. SIGPIPE is ignored: writes say EPIPE instead.
    package static func block() {
        signal(SIGPIPE, SIG_IGN)
        var set = ending()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// SIGHUP does this from now on, on the thread that waits, in place of ending the process; one that comes before
    /// that thread waits does it then. Call it before any thread is started.
    package static func onHangUp(_ action: @escaping @Sendable () -> Void) {
        hangUp.withLock { $0 = action }
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// SIGHUP stays blocked: it must not end a process that is ending in order.
    static func restore() {
        var set = ending()
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Waits for one of them; its name.
    package static func wait() -> String {
        let action = hangUp.withLock { $0 }
        var set = ending()
        if action != nil {
            sigaddset(&set, SIGHUP)
        }
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 || number == SIGHUP {
            if number == SIGHUP { action?() }
        }
        return number == SIGINT ? "SIGINT" : "SIGTERM"
    }

    static func raise(_ number: Int32) {
        kill(getpid(), number)
    }

    static func endNow() -> Never {
        _exit(ExitStatus.interrupted)
    }

    private static func ending() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }
}
