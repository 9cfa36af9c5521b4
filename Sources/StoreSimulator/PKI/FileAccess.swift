import Glibc

/// Whole files, by the system's calls, with errors that name the path.
enum FileAccess {
    struct Failure: Error, CustomStringConvertible {
        let path: String
        let code: Int32

        var description: String { "\(path): \(String(cString: strerror(code)))" }
    }

    static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// From the root on, links followed; as it is where there is nothing.
    static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// With the folders above it.
    static func makeFolder(_ path: String) throws(Failure) {
        var built = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            built += part + "/"
            guard mkdir(built, 0o755) == 0 || errno == EEXIST else { throw Failure(path: built, code: errno) }
        }
    }

    /// Replaces what is there; the mode holds from the first byte on.
    static func write(_ path: String, _ bytes: [UInt8], mode: mode_t = 0o644) throws(Failure) {
        unlink(path)
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(file) }
        guard writeAll(file, bytes) else { throw Failure(path: path, code: errno) }
    }

    /// `-` is standard input.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        let file = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure(path: path, code: errno) }
        defer { if file != 0 { close(file) } }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count == 0 { return content }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure(path: path, code: errno) }
            content += chunk.prefix(count)
        }
    }

    /// False with `errno` set when the file takes no more.
    static func writeAll(_ file: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }
}
