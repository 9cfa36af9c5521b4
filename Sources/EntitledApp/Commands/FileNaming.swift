import CFiles
import Glibc

/// How a file that is whole gets its name where nothing else may lose it.
///
/// The first two decide and name in one step. Only where a file system has neither is the name reserved by an empty file
/// first, which a process that is killed then leaves behind.
enum FileNaming: CaseIterable {
    case rename, link, reserve

    /// What file systems answer that have no such call.
    private static let unsupported: Set<Int32> = [EINVAL, ENOSYS, EPERM, EOPNOTSUPP]

    /// Moves a file to a name that is free, durably.
    ///
    /// - Parameter ways: what is tried, in this order; a test names one.
    /// - Returns: 0, or the code of the error: `EEXIST` where the name is taken. The file has its former name then.
    static func move(_ draft: String, to path: String, _ ways: [FileNaming] = allCases) -> Int32 {
        var code = ENOSYS
        for way in ways {
            code = way.move(draft, to: path)
            guard FileNaming.unsupported.contains(code) else { break }
        }
        return code == 0 ? synchronizeFolder(of: path) : code
    }

    /// Moves a file to a name, durably; what had it is gone.
    ///
    /// - Returns: 0, or the code of the error.
    static func replace(_ draft: String, to path: String) -> Int32 {
        Glibc.rename(draft, path) == 0 ? synchronizeFolder(of: path) : errno
    }

    private func move(_ draft: String, to path: String) -> Int32 {
        switch self {
        case .rename: return cfiles_rename_new(draft, path) == 0 ? 0 : errno
        case .link:
            guard Glibc.link(draft, path) == 0 else { return errno }
            unlink(draft)
            return 0
        case .reserve:
            let reservation = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard reservation >= 0 else { return errno }
            defer { close(reservation) }
            guard Glibc.rename(draft, path) != 0 else { return 0 }
            let code = errno
            // Another process may have replaced it meanwhile.
            if FileNaming.isFile(reservation, at: path) { unlink(path) }
            return code
        }
    }

    private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
        var (own, there) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino
            && own.st_dev == there.st_dev
    }

    /// A name lasts only once its folder is on the disk. Not every file system can do that, and not every folder may be read.
    private static func synchronizeFolder(of path: String) -> Int32 {
        let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 || FileNaming.unsupported.contains(errno) ? 0 : errno
    }
}
