import Daemon
import FoundationEssentials
import Glibc

/// Which processes work in a private cluster's data folder.
extension ClusterFolder {
    /// What postmaster.pid says about a server (Postgres, `pidfile.h`).
    struct Postmaster {
        let process: pid_t
        let socket: String?
    }

    /// What the file says, whether or not it is true.
    var recorded: Postmaster? {
        guard let text = try? String(contentsOfFile: identityFile, encoding: .utf8) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let process = pid_t(first.filter { $0.isNumber }), process > 0 else {
            return nil
        }
        let socket = lines.count > 4 && !lines[4].isEmpty ? String(lines[4]) : nil
        return Postmaster(process: process, socket: socket)
    }

    /// The living server of this folder; a process that merely got its number is told apart.
    var running: Postmaster? {
        guard let recorded, ClusterFolder.isPostgres(recorded.process) else { return nil }
        // A server works in its data folder. Without CAP_SYS_PTRACE, as in containers, even root is not told.
        guard let folder = ClusterFolder.workingFolder(of: recorded.process) else { return recorded }
        return folder == data ? recorded : nil
    }

    /// Whether the server has ended. False where that cannot be told, as while this process has no file descriptor left: a new
    /// start ends the processes that are still there, and must not end a server that lives.
    var hasEnded: Bool {
        guard running == nil else { return false }
        switch FileReading.read(identityFile) {
        case .missing: return true
        case .denied, .failed: return false
        case .contents: break
        }
        guard let recorded else { return true }
        switch FileReading.read("/proc/\(recorded.process)/stat") {
        case .missing: return true
        case .denied, .failed: return false
        // Another process got the number, or it is a zombie; unless it could not be read a moment ago.
        case .contents: return running == nil
        }
    }

    /// The processes of this folder, also the children of a server that is gone.
    var remains: [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { process in
            ClusterFolder.isPostgres(process) && ClusterFolder.workingFolder(of: process) == data
        }
    }

    /// After a crash the number in postmaster.pid may belong to some other process, which Postgres takes for a server.
    /// Only the number is made void: the rest leads Postgres to shared memory that may still be in use. A file that names
    /// none, as a full disk or a power cut leaves it, stops Postgres for good, and is removed where none of its processes
    /// live.
    func disarmIdentityFile(_ account: ClusterAccount) throws(PrivateClusterError) {
        guard running == nil, let text = try? String(contentsOfFile: identityFile, encoding: .utf8) else { return }
        guard let recorded else {
            if remains.isEmpty { try account.run(["/bin/rm", "-f", "--", identityFile]) }
            return
        }
        guard kill(recorded.process, 0) == 0 else { return }
        // Linux gives no number beyond 2²².
        try account.write("\(pid_t.max)" + text.drop { $0 != "\n" }, to: identityFile)
    }

    /// Where a process of this name lives. One that has ended and whose parent does not ask, as the first process of a
    /// container may not, is none.
    private static func isPostgres(_ process: pid_t) -> Bool {
        // proc(5): `number (name) state …`
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")"), let begin = text.firstIndex(of: "("), begin < end
        else { return false }
        let state = text[end...].dropFirst(2).first
        return text[text.index(after: begin)..<end] == "postgres" && state != "Z" && state != "X"
    }

    private static func workingFolder(of process: pid_t) -> String? {
        guard let folder = realpath("/proc/\(process)/cwd", nil) else { return nil }
        defer { free(folder) }
        return String(cString: folder)
    }
}
