import FoundationEssentials
import Glibc
import TestSupport

/// A file system in memory, small enough to be full soon. It is unmounted when this goes.
final class SmallDisk {
    /// Where it is mounted; Postgres' own.
    private let mount: String
    var folder: String { "\(mount)/data" }
    private var ballast: String { "\(mount)/ballast" }

    /// Whether this process may mount; found out by doing it.
    static let isPossible: Bool = (try? SmallDisk(megabytes: 1)) != nil

    init(megabytes: Int) throws {
        mount = try TemporaryFolder.make()
        do {
            try TestCommand.run(["/bin/mount", "-t", "tmpfs", "-o", "size=\(megabytes)m,mode=755", "tmpfs", mount])
        } catch {
            TemporaryFolder.remove(mount)
            throw error
        }
        guard mkdir("\(mount)/data", 0o700) == 0 else { throw TestFailure("no folder") }
        try TestCommand.giveAway("\(mount)/data")
    }

    deinit {
        // Lazily: a server may still have files open.
        _ = try? TestCommand.run(["/bin/umount", "-l", mount])
        TemporaryFolder.remove(mount)
    }

    /// Leaves no room for anything.
    func fill() throws {
        let descriptor = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TestFailure("no ballast") }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw TestFailure("the disk is not full: \(String(cString: strerror(errno)))") }
    }

    func empty() throws {
        guard unlink(ballast) == 0 else { throw TestFailure("the ballast stays") }
    }
}
