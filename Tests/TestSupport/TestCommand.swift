import FoundationEssentials
import Glibc

/// Programs of the system that tests use beside ours.
package enum TestCommand {
    /// Runs one to its end; what it wrote. Fails unless it succeeds. What it leaves running is not waited for.
    @discardableResult
    package static func run(_ arguments: [String], within patience: Duration = .seconds(60)) throws -> String {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let output = "\(folder)/output"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Our working folder may be closed to another user.
        let command = ["/bin/sh", "-c", "cd / && exec \"$@\"", "sh"] + arguments
        let argv = command.map { strdup($0) } + [nil]
        let environment: [String] = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
        let envp = environment.map { strdup($0) } + [nil]
        defer {
            for text in argv + envp { free(text) }
        }
        var process = pid_t()
        guard posix_spawn(&process, command[0], &actions, nil, argv, envp) == 0 else {
            throw TestFailure("cannot start \(arguments[0])")
        }
        var status: Int32 = 0
        try eventually(timeout: patience, "\(arguments) ends") { waitpid(process, &status, WNOHANG) == process }
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        guard status == 0 else { throw TestFailure("\(arguments.joined(separator: " ")): \(text)") }
        return text
    }

    /// The same command as the user `postgres`, where we are root: Postgres and PgBouncer refuse to run as that.
    package static func unprivileged(_ arguments: [String]) -> [String] {
        guard geteuid() == 0 else { return arguments }
        return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] + arguments
    }

    /// Gives a folder to whoever `unprivileged` runs as.
    package static func giveAway(_ path: String) throws {
        if geteuid() == 0 { try run(["/bin/chown", "postgres:postgres", path]) }
    }
}
