import FoundationEssentials
import Glibc

/// Where a private cluster keeps what it has: `postgres/` in the state folder, and a socket folder.
struct ClusterFolder {
    /// Absolute, without symbolic links.
    let state: String

    var home: String { "\(state)/postgres" }
    var data: String { "\(home)/data" }
    /// A cluster being made; it becomes `data` when it is whole.
    var unfinished: String { "\(home)/data.new" }
    var log: String { "\(home)/server.log" }
    var lock: String { "\(home)/lock" }
    var identityFile: String { "\(data)/postmaster.pid" }

    /// Makes the state folder if it is missing.
    static func make(_ path: String) throws(PrivateClusterError) -> ClusterFolder {
        var partial = path.hasPrefix("/") ? "" : "."
        for name in path.split(separator: "/") {
            partial += "/\(name)"
            guard mkdir(partial, 0o755) == 0 || errno == EEXIST || access(partial, F_OK) == 0 else {
                throw PrivateClusterError("cannot create the folder \(partial): \(String(cString: strerror(errno)))")
            }
        }
        guard let folder = find(path) else { throw PrivateClusterError("\(path) is not a folder") }
        return folder
    }

    static func find(_ path: String) -> ClusterFolder? {
        guard let absolute = realpath(path, nil) else { return nil }
        defer { free(absolute) }
        return ClusterFolder(state: String(cString: absolute))
    }

    /// The version that made the data; nil without data.
    var version: Int? {
        guard let text = try? String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8) else { return nil }
        return Int(text.prefix { $0.isNumber })
    }

    /// Where an upgrade keeps the data of the former version.
    func former(_ version: Int) -> String { "\(data).\(version)" }

    /// That of the newest former version; nil without one.
    var former: String? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: home)) ?? []
        return names.compactMap { $0.hasPrefix("data.") ? Int($0.dropFirst(5)) : nil }.max().map(former)
    }

    /// Said where the disk is full, since the server cannot write that into its log then; else empty.
    var shortage: String {
        var room = statvfs()
        guard statvfs(home, &room) == 0 else { return "" }
        let free = UInt64(room.f_bavail) * UInt64(room.f_frsize)
        // A segment of the server's log of changes has 16 MB.
        guard free < 17_000_000 else { return "" }
        return "the disk of \(home) is full (\(free / 1000) kB are free): make room; "
    }

    /// For the socket: in `home` if the path is short and plain enough, otherwise in /tmp.
    ///
    /// A socket's path has at most 107 bytes (unix(7)), and Postgres reads commas and quotes in its own way.
    var socket: String {
        let own = "\(home)/socket"
        let isPlain = own.utf8.allSatisfy { byte in
            Character(Unicode.Scalar(byte)).isLetter && byte < 128 || UInt8(ascii: "-")...UInt8(ascii: "9") ~= byte
                || byte == UInt8(ascii: "_")
        }
        if isPlain, own.utf8.count + "/.s.PGSQL.5432".utf8.count <= 107 { return own }
        // FNV-1a: the same folder gives the same name in every process.
        let hash = state.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let digits = String(hash, radix: 16)
        return "/tmp/entitled-" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// Leaves nothing in /tmp.
    func removeSocketFolder() {
        if socket.hasPrefix("/tmp/entitled-"), socket != "\(home)/socket" { rmdir(socket) }
    }

    /// Makes a folder that only this user enters, or makes sure that it is one.
    static func makePrivate(_ path: String, _ account: ClusterAccount) throws(PrivateClusterError) {
        if mkdir(path, 0o700) == 0 {
            guard account.user == geteuid() || lchown(path, account.user, account.group) == 0 else {
                throw PrivateClusterError("cannot give \(path) to user \(account.user)")
            }
            return
        }
        guard errno == EEXIST else {
            throw PrivateClusterError("cannot create \(path): \(String(cString: strerror(errno)))")
        }
        // In /tmp any user could have made it first, or put a link there.
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == account.user,
            status.st_mode & 0o077 == 0
        else {
            throw PrivateClusterError("\(path) is not a folder of user \(account.user) alone (mode 0700)")
        }
    }
}
