import Base
import CLI
import Crypto
import Foundation

/// A file that a command writes, readable by its owner alone. It is there under its name only once it is whole.
///
/// What is no file, such as a device or a pipe, is written to as it is, and stays.
final class NewFile {
    private let path: String
    /// Nil: it is written in place.
    private let draft: String?
    private let replaces: Bool
    private let handle: FileHandle
    private var isFinished = false

    /// - Parameter replaces: whether a file that is there gives way; otherwise that is an error. Of a symbolic link the file
    ///   gives way that it leads to.
    init(_ path: String, replaces: Bool) throws {
        self.replaces = replaces
        var status = stat()
        guard stat(path, &status) == 0 else {
            let draft = NewFile.draft(of: path)
            (self.path, self.draft) = (path, draft)
            handle = try CustomerExportCommand.create(draft)
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: throw CommandFailure("cannot write \(path): it is a folder")
        case S_IFREG where !path.hasPrefix("/dev/") && !path.hasPrefix("/proc/"):
            guard replaces else { throw CommandFailure("cannot write \(path): it is there; --force replaces it") }
            let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let draft = NewFile.draft(of: target)
            (self.path, self.draft) = (target, draft)
            handle = try CustomerExportCommand.create(draft)
        default:
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw NewFile.failure(path, errno) }
            self.path = path
            draft = nil
            handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
    }

    deinit {
        try? handle.close()
        if let draft, !isFinished { unlink(draft) }
    }

    /// A name of its own for each: processes of several containers may have the same number.
    private static func draft(of path: String) -> String {
        "\(path).unfinished-\(Hex.encode(SecureRandom.bytes(4)))"
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure("cannot write \(path): \(String(cString: strerror(code)))")
    }

    func write(_ bytes: [UInt8]) throws { try handle.write(contentsOf: Data(bytes)) }

    /// Gives it its name.
    func finish() throws {
        guard let draft else {
            isFinished = true
            return
        }
        try handle.synchronize()
        if !replaces { try reserve() }
        guard rename(draft, path) == 0 else {
            let failure = NewFile.failure(path, errno)
            if !replaces { unlink(path) }
            throw failure
        }
        isFinished = true
    }

    /// Takes the name unless something came there meanwhile. Not by a link: some file systems have none.
    private func reserve() throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw NewFile.failure(path, errno) }
        close(descriptor)
    }
}
