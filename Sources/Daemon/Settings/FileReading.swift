import Glibc

/// What came of reading a whole small file.
package enum FileReading: Sendable, Equatable {
    case contents([UInt8])
    case missing
    /// It may exist, but this user may not read it.
    case denied
    /// The system's words.
    case failed(String)

    /// Files of a configuration are small; a larger one is a mistake, not data.
    package static let maximumBytes = 16 << 20

    package static func read(_ path: String) -> FileReading {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return reason(errno) }
        defer { close(file) }
        return read(file)
    }

    /// Reads an open file to its end; at most `maximumBytes`.
    package static func read(_ file: Int32) -> FileReading {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count == 0 { return .contents(contents) }
            if count < 0 {
                if errno == EINTR { continue }
                return reason(errno)
            }
            contents += buffer.prefix(count)
            if contents.count > maximumBytes { return .failed("larger than \(maximumBytes) bytes") }
        }
    }

    private static func reason(_ number: Int32) -> FileReading {
        switch number {
        case ENOENT, ENOTDIR: .missing
        case EACCES, EPERM: .denied
        default: .failed(String(cString: strerror(number)))
        }
    }

    /// What went wrong, in words; nil if nothing did.
    package var failure: String? {
        switch self {
        case .contents: nil
        case .missing: "there is no such file"
        case .denied: "permission denied"
        case .failed(let reason): reason
        }
    }
}
