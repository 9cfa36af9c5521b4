import Base
import CLI
import Crypto
import Glibc

/// The files of `secrets_dir`, which give secret keys of the configuration.
struct SecretFiles {
    let folder: String

    func path(of key: String) -> String { "\(folder)/\(ConfigurationKeys.secretFile(of: key))" }

    /// Makes the folder, for its user alone, where there is none.
    func makeFolder() throws {
        guard mkdir(folder, 0o700) != 0, errno != EEXIST else { return }
        throw CommandFailure("cannot make \(folder): \(String(cString: strerror(errno)))")
    }

    /// Writes a value durably, for its user alone. A file that is there is replaced whole.
    func write(_ value: String, of key: String) throws {
        let (path, bytes) = (path(of: key), Array((value + "\n").utf8))
        let draft = "\(path).\(Hex.encode(SecureRandom.bytes(4)))"
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
        guard rename(draft, path) == 0 else { throw failure() }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }
}
