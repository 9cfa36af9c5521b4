import Base
import FoundationEssentials
import Glibc

/// One `entitled` process; it ends with this one, however this one ends.
final class DaemonProcess {
    let process: pid_t
    private let role: String
    private let log: String
    private var hasEnded = false

    /// Starts `entitled ROLE`; its log lines go to a file in the folder.
    init(_ role: String, program: String, configuration: String, folder: String) throws {
        self.role = role
        log = "\(folder)/\(role).log"
        process = try DaemonProcess.spawn([program, role, "--config", configuration], output: "/dev/null", errors: log)
    }

    deinit {
        end()
    }

    /// Runs `entitled ARGUMENTS` to its end; what it wrote on standard output.
    @discardableResult
    static func run(
        _ arguments: [String], program: String, configuration: String, folder: String
    ) throws -> String {
        let (output, errors) = ("\(folder)/command.out", "\(folder)/command.err")
        let process = try spawn([program] + arguments + ["--config", configuration], output: output, errors: errors)
        guard wait(for: process) == 0 else {
            throw BenchmarkFailure("entitled \(arguments.joined(separator: " ")) failed: \(text(errors).suffix(500))")
        }
        return text(output)
    }

    /// Where the listener of this role takes connections: `127.0.0.1:PORT`. Waits for it.
    func address() throws -> String {
        try find("listening") { line in
            line["message"]?.stringValue == "listening" && line["role"]?.stringValue == role
                ? line["address"]?.stringValue : nil
        }
    }

    /// Waits for a log line of which `body` makes something.
    func find<Value>(_ what: String, _ body: (JSON) -> Value?) throws -> Value {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            for line in DaemonProcess.text(log).split(separator: "\n") {
                if let json = try? JSON(parsing: Array(line.utf8)), let value = body(json) { return value }
            }
            let isRunning = waitpid(process, nil, WNOHANG) == 0
            hasEnded = !isRunning
            guard ContinuousClock.now < deadline, isRunning else {
                throw BenchmarkFailure("entitled \(role): no \(what); \(DaemonProcess.text(log).suffix(1000))")
            }
            usleep(5_000)
        }
    }

    var usage: ProcessUsage { ProcessUsage(of: process) }

    /// Warnings and errors that it logged.
    var complaints: [String] {
        DaemonProcess.text(log).split(separator: "\n").map(String.init).filter {
            $0.contains(#""level":"warning""#) || $0.contains(#""level":"error""#)
        }
    }

    /// In order, and waits for it.
    func end() { end(by: SIGTERM) }

    /// At once: for one that would wait for what is in flight.
    func kill() { end(by: SIGKILL) }

    private func end(by signal: Int32) {
        guard !hasEnded else { return }
        hasEnded = true
        Glibc.kill(process, signal)
        _ = DaemonProcess.wait(for: process)
    }

    // MARK: - Processes

    private static func spawn(_ command: [String], output: String, errors: String) throws -> pid_t {
        // `setpriv` because only the child itself can ask for a signal at its parent's end.
        let arguments = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"] + command
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        let argv = arguments.map { strdup($0) } + [nil]
        defer {
            for text in argv { free(text) }
            posix_spawn_file_actions_destroy(&actions)
        }
        var process = pid_t()
        let status = posix_spawn(&process, arguments[0], &actions, nil, argv, environ)
        guard status == 0 else {
            throw BenchmarkFailure("cannot start \(command[0]): \(String(cString: strerror(status)))")
        }
        return process
    }

    private static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return -1 }
        }
        return status
    }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
