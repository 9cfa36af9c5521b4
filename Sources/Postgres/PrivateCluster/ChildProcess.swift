import Glibc

/// A program that runs to its end, away from our working directory, environment and signal mask.
enum ChildProcess {
    struct ExitResult {
        /// The exit status, or 128 and the signal.
        let status: Int32
        /// Standard output and error, mixed.
        let output: String
    }

    /// Runs a program and waits for it, and for everything that holds its output.
    ///
    /// - Parameters:
    ///   - arguments: the program's absolute path first.
    ///   - folder: the working folder; ours may be closed to another user.
    static func run(_ arguments: [String], in folder: String = "/") throws(PrivateClusterError) -> ExitResult {
        // Sockets, because pipes that no other child inherits (pipe2) are not in Glibc's module.
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw failure("socketpair", errno)
        }
        defer { close(ends[0]) }
        let process = try spawnAndClose(arguments, in: folder, output: ends[1])
        let output = readAll(ends[0])
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw failure("waitpid", errno) }
        }
        let signal = status & 0x7f
        return ExitResult(status: signal == 0 ? (status >> 8) & 0xff : 128 + signal, output: output)
    }

    private static func spawnAndClose(
        _ program: [String], in folder: String, output: Int32
    ) throws(PrivateClusterError) -> pid_t {
        defer { close(output) }
        let arguments = ["/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder] + program
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // A server must keep none of its starter's sockets and pipes open, whose other ends wait for their end. Closing what is not
        // open is no error; a few more numbers are for what other threads open meanwhile.
        for descriptor in 3...(highestDescriptor() + 64) { posix_spawn_file_actions_addclose(&actions, descriptor) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // Not ours: PGDATA, PGOPTIONS and their like would change what the programs do.
        let environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup($0) } + [nil]
        defer {
            for text in argv + envp { free(text) }
        }
        var process = pid_t()
        let status = posix_spawn(&process, arguments[0], &actions, &attributes, argv, envp)
        guard status == 0 else { throw failure(arguments[0], status) }
        return process
    }

    private static func highestDescriptor() -> Int32 {
        guard let folder = opendir("/proc/self/fd") else { return 1024 }
        defer { closedir(folder) }
        var highest: Int32 = 3
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            highest = max(highest, Int32(name) ?? 0)
        }
        return highest
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &part, part.count)
            if count > 0 {
                bytes.append(contentsOf: part.prefix(count))
            } else if count == 0 || errno != EINTR {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    private static func failure(_ what: String, _ code: Int32) -> PrivateClusterError {
        PrivateClusterError("\(what): \(String(cString: strerror(code)))")
    }
}
