import Base
import CLI
import Crypto
import Foundation

/// A file that a command writes, readable by its owner alone. It is there under its name only once it is whole.
///
/// What is no file, such as a device or a pipe, is written to as it is, and stays; and so is a descriptor that the process
/// was started with, named as in `/dev/stdout`.
final class NewFile {
    private let path: String
    /// Nil: it is written in place.
    private let draft: String?
    private let replaces: Bool
    private let naming: [FileNaming]
    private let handle: FileHandle
    private var isFinished = false

    /// - Parameters:
    ///   - replaces: whether a file that is there gives way; otherwise that is an error. Of a symbolic link the file is meant
    ///     that it leads to, whether that is there or not.
    ///   - naming: how it gets a name that is free.
    init(_ path: String, replaces: Bool, naming: [FileNaming] = FileNaming.allCases) throws {
        (self.replaces, self.naming) = (replaces, naming)
        switch try NewFile.resolve(path) {
        case .descriptor(let descriptor):
            self.path = path
            draft = nil
            handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        case .file(let target, let isThere):
            guard !isThere || replaces else { throw NewFile.taken(path) }
            let draft = "\(target).unfinished-\(Hex.encode(SecureRandom.bytes(4)))"
            (self.path, self.draft) = (target, draft)
            handle = try CustomerExportCommand.create(draft)
        }
    }

    deinit {
        try? handle.close()
        if let draft, !isFinished { unlink(draft) }
    }

    /// Whether what is written is part of what the program says on standard output.
    var isStandardOutput: Bool {
        var (own, output) = (stat(), stat())
        return fstat(handle.fileDescriptor, &own) == 0 && fstat(1, &output) == 0 && own.st_dev == output.st_dev
            && own.st_ino == output.st_ino
    }

    func write(_ bytes: [UInt8]) throws { try handle.write(contentsOf: Data(bytes)) }

    /// Gives it its name.
    func finish() throws {
        guard let draft else {
            isFinished = true
            return
        }
        try handle.synchronize()
        let code = replaces ? FileNaming.replace(draft, to: path) : FileNaming.move(draft, to: path, naming)
        guard code == 0 else { throw code == EEXIST ? NewFile.taken(path) : NewFile.failure(path, code) }
        isFinished = true
    }

    private static func taken(_ path: String) -> CommandFailure {
        CommandFailure("cannot write \(path): it is there; --force replaces it")
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure("cannot write \(path): \(String(cString: strerror(code)))")
    }

    // MARK: - What a path means

    private enum Place {
        /// To be written to as it is.
        case descriptor(Int32)
        /// The name of a file, which is no symbolic link.
        case file(String, isThere: Bool)
    }

    /// As many links as Linux follows.
    private static let links = 40

    /// Follows symbolic links one by one, because the last may lead to a file that is yet to be, or to a descriptor. As Linux
    /// does with `fs.protected_symlinks`, it follows none of another user in a folder where everybody may make some, such as
    /// `/tmp`: it would decide where a file of this user comes to be.
    private static func resolve(_ path: String) throws -> Place {
        var name = path
        for _ in 0...links {
            if let number = number(ofDescriptor: name) { return .descriptor(try duplicate(number, path)) }
            var status = stat()
            guard lstat(name, &status) == 0 else {
                guard errno == ENOENT else { throw failure(path, errno) }
                return .file(name, isThere: false)
            }
            switch status.st_mode & S_IFMT {
            case S_IFLNK:
                try admit(link: status, in: folder(of: name), path)
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: name)
                name = target.hasPrefix("/") ? target : folder(of: name) + target
            case S_IFDIR: throw CommandFailure("cannot write \(path): it is a folder")
            case S_IFREG: return .file(name, isThere: true)
            default: return .descriptor(try openInPlace(name, path))
            }
        }
        throw failure(path, ELOOP)
    }

    private static func admit(link: stat, in folder: String, _ path: String) throws {
        var status = stat()
        guard stat(folder.isEmpty ? "." : folder, &status) == 0 else { throw failure(path, errno) }
        let isShared = status.st_mode & S_ISVTX != 0 && status.st_mode & (S_IWOTH | S_IWGRP) != 0
        guard !isShared || link.st_uid == geteuid() || link.st_uid == status.st_uid else {
            throw CommandFailure(
                "cannot write \(path): it is a symbolic link that another user made in a folder that others may write to"
            )
        }
    }

    /// With the slash at its end; empty where the path has none.
    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    /// The number of a descriptor of this process, where the path names one: opened by its path, a file would be written from
    /// its beginning, over what the shell's `>>` has kept.
    private static func number(ofDescriptor path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return 1
        case "/dev/stderr": return 2
        default: break
        }
        let folder = folder(of: path)
        guard let number = Int32(path.dropFirst(folder.count)), number >= 0,
            let real = realpath(folder.isEmpty ? "." : folder, nil)
        else { return nil }
        defer { free(real) }
        // Its threads have it, too.
        let (name, own) = (String(cString: real), "/proc/\(getpid())")
        return name == "\(own)/fd" || name.hasPrefix("\(own)/task/") && name.hasSuffix("/fd") ? number : nil
    }

    /// - Parameter path: as the person wrote it.
    private static func duplicate(_ number: Int32, _ path: String) throws -> Int32 {
        // What this program opened itself, such as its connection to Postgres, is closed for others; what it was given is not.
        let flags = fcntl(number, F_GETFD)
        guard flags >= 0, flags & FD_CLOEXEC == 0 else { throw failure(path, EBADF) }
        guard fcntl(number, F_GETFL) & O_ACCMODE != O_RDONLY else {
            throw CommandFailure("cannot write \(path): it is open for reading only")
        }
        let descriptor = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw failure(path, errno) }
        return descriptor
    }

    /// A device or a pipe.
    private static func openInPlace(_ name: String, _ path: String) throws -> Int32 {
        let descriptor = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw failure(path, errno) }
        var status = stat()
        // A file may have come there meanwhile.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
            close(descriptor)
            throw taken(path)
        }
        return descriptor
    }
}
