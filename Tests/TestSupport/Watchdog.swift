import Glibc

/// Cleans up after this process: a shell waits for the end of a socket whose other end only we hold, stops the server
/// of a folder, and removes the folder.
final class Watchdog: Sendable {
    private let lifeline: Int32

    private static let script = """
        cd /
        read -r _
        data="$1/postgres/data"
        process=$(head -n 1 "$data/postmaster.pid" 2>/dev/null)
        if [ -n "$process" ] && [ "$(readlink "/proc/$process/cwd")" = "$data" ]; then
            kill -QUIT "$process"
            while kill -0 "$process" 2>/dev/null; do sleep 0.1; done
        fi
        rm -rf -- "$1"
        """

    init(folder: String) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TestFailure("no sockets")
        }
        lifeline = ends[1]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let arguments = ["/usr/bin/setsid", "/bin/sh", "-c", Watchdog.script, "watchdog", folder]
        let argv = arguments.map { strdup($0) } + [nil]
        defer {
            for text in argv { free(text) }
            posix_spawn_file_actions_destroy(&actions)
            close(ends[0])
        }
        var process = pid_t()
        guard posix_spawn(&process, arguments[0], &actions, nil, argv, environ) == 0 else {
            throw TestFailure("no watchdog")
        }
    }

    deinit {
        close(lifeline)
    }
}
