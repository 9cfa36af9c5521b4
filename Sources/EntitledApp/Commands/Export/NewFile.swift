import CLI
import Foundation

/// A file that a command writes, readable by its owner alone. It is there under its name only once it is whole.
final class NewFile {
    private let path: String
    private let unfinished: String
    private let replaces: Bool
    private let handle: FileHandle
    private var isFinished = false

    /// - Parameter replaces: whether a file that is there gives way; otherwise that is an error.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        unfinished = "\(path).unfinished-\(getpid())"
        guard replaces || access(path, F_OK) != 0 else {
            throw CommandFailure("cannot write \(path): it is there; --force replaces it")
        }
        handle = try CustomerExportCommand.create(unfinished)
    }

    deinit {
        try? handle.close()
        if !isFinished { unlink(unfinished) }
    }

    func write(_ bytes: [UInt8]) throws { try handle.write(contentsOf: Data(bytes)) }

    /// Gives it its name.
    func finish() throws {
        try handle.synchronize()
        // A link does not replace what came there meanwhile.
        let status = replaces ? rename(unfinished, path) : link(unfinished, path)
        guard status == 0 else {
            throw CommandFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        if !replaces { unlink(unfinished) }
        isFinished = true
    }
}
