import Base
import CLI
import Crypto
import FoundationEssentials
import Glibc

/// The files of `secrets_dir`, which give secret keys of the configuration.
struct SecretFiles {
    let folder: String

    func path(of key: String) -> String { "\(folder)/\(ConfigurationKeys.secretFile(of: key))" }

    var hasFolder: Bool { access(folder, F_OK) == 0 }

    /// Makes the folder, for its user alone, where there is none.
    func makeFolder() throws {
        guard mkdir(folder, 0o700) != 0, errno != EEXIST else { return }
        throw CommandFailure("cannot create \(folder): \(String(cString: strerror(errno)))")
    }

    /// Runs the body while no other process writes files here. What one that was killed left unfinished is removed first.
    func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        func failure() -> CommandFailure {
            CommandFailure("cannot use \(folder): \(String(cString: strerror(errno)))")
        }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure() }
        defer { close(directory) }
        guard flock(directory, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw failure() }
            throw CommandFailure("another entitled setup writes to \(folder): wait until it has ended")
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name.wholeMatch(of: /[a-z_]+\.unfinished-[0-9a-f]{8}/) != nil {
            guard unlink("\(folder)/\(name)") == 0 else { throw failure() }
        }
        return try body()
    }

    /// Writes a value durably, for its user alone.
    ///
    /// - Parameter isNew: whether a file that is there is kept, and an error; otherwise it is replaced whole.
    func write(_ value: String, of key: String, isNew: Bool) throws {
        let (path, bytes) = (path(of: key), Array((value + "\n").utf8))
        let draft = "\(path).unfinished-\(Hex.encode(SecureRandom.bytes(4)))"
        func failure() -> CommandFailure {
            CommandFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure() }
        defer { unlink(draft) }
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        let error = isWritten ? nil : failure()
        close(file)
        if let error { throw error }
        switch isNew ? FileNaming.move(draft, to: path) : FileNaming.replace(draft, to: path) {
        case 0: break
        case EEXIST:
            throw CommandFailure(
                "cannot write \(path): it is there, and the configuration has no value of it. Look whether root may read it,"
                    + " and run entitled setup again")
        case let code:
            throw CommandFailure("cannot write \(path): \(String(cString: strerror(code)))")
        }
    }
}
