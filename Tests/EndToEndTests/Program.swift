import Base
import FoundationEssentials
import Glibc
import TestSupport

/// A process of `entitled`, or another program, with what it says in files. It is killed when this goes.
final class Program: Sendable {
    /// Where the build puts the program; `ENTITLED_BIN` names another.
    static let path: String = {
        if let given = ProcessInfo.processInfo.environment["ENTITLED_BIN"] { return given }
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(root)/.build/debug/entitled"
    }()

    static var isBuilt: Bool { access(path, X_OK) == 0 }

    private static let number = Monotone()
    let process: pid_t
    private let output: String
    private let errors: String
    private let end = Monotone()

    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - folder: where its output is kept.
    convenience init(_ arguments: [String], folder: String, environment: [String: String] = [:]) throws {
        try self.init(running: [Program.path] + arguments, folder: folder, environment: environment)
    }

    /// Another program than ours; its path comes first.
    ///
    /// - Parameter socket: what it is started with as systemd starts processes that have a socket unit.
    init(
        running command: [String], folder: String, environment: [String: String] = [:], socket: Int32? = nil
    ) throws {
        let name = "\(folder)/out-\(Program.number.next())"
        output = "\(name).out"
        errors = "\(name).err"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        if let socket { posix_spawn_file_actions_adddup2(&actions, socket, 3) }
        var attributes = posix_spawnattr_t()
        try Program.unmask(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        let variables = environment.merging(["PATH": "/usr/bin:/bin", "HOME": folder]) { given, _ in given }
        let argv = command.map { strdup($0) } + [nil]
        let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in argv + envp { free(text) }
        }
        var process = pid_t()
        guard posix_spawn(&process, command[0], &actions, &attributes, argv, envp) == 0 else {
            throw TestFailure("cannot start \(command[0])")
        }
        self.process = process
    }

    /// The test runner's threads may block signals, and children would inherit that.
    private static func unmask(_ attributes: inout posix_spawnattr_t) throws {
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGTERM, SIGINT, SIGPIPE, SIGHUP] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    }

    deinit {
        guard end.value == 0 else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    func kill(_ signal: Int32 = SIGKILL) {
        guard end.value == 0 else { return }
        Glibc.kill(process, signal)
    }

    /// Whether it has ended, however.
    var hasEnded: Bool {
        guard end.value == 0 else { return true }
        var information = siginfo_t()
        let isKnown = waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
        return isKnown && information.si_signo != 0
    }

    /// Its exit status, or 128 and the signal that ended it, once it has ended.
    @discardableResult
    func wait(timeout: Duration = .seconds(40)) throws -> Int32 {
        var status: Int32 = 0
        try eventually(timeout: timeout, "the program ends; it said: \(log.suffix(2000))") {
            waitpid(process, &status, WNOHANG) == process
        }
        _ = end.next()
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Standard error so far.
    var log: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }
    var text: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
    var document: JSON? { try? JSON(parsing: Array(text.utf8)) }

    var logLines: [Substring] { log.split(separator: "\n") }

    /// The address of the listener of this role, once it listens.
    func address(_ role: String) throws -> String {
        var found: String?
        try eventually("\(role) listens; it said: \(log.suffix(2000))") {
            for line in logLines where line.hasSuffix("}") {
                guard let json = try? JSON(parsing: Array(line.utf8)), json["message"]?.stringValue == "listening",
                    json["role"]?.stringValue == role
                else { continue }
                found = json["address"]?.stringValue
            }
            return found != nil
        }
        return found ?? ""
    }
}
