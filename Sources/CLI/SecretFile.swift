import Base
import Daemon

/// A value of an option that is read from a file, because every user of a host can read what a program is started with.
package enum SecretFile {
    /// The lines of the file that are not empty; `-` is standard input.
    ///
    /// - Throws: `UsageError`, which names the option and the file, and nothing of what is in it.
    package static func lines(_ path: String, of option: String) throws(UsageError) -> [String] {
        let reading = path == "-" ? FileReading.read(0) : FileReading.read(path)
        guard case .contents(let bytes) = reading, let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("\(option): \(Terminal.harmless(path)) cannot be read as text")
        }
        return text.split(whereSeparator: \.isNewline).map(String.init)
    }

    /// The only line of the file.
    package static func line(_ path: String, of option: String) throws(UsageError) -> String {
        let lines = try lines(path, of: option)
        guard let line = lines.first, lines.count == 1 else {
            throw UsageError("\(option): \(Terminal.harmless(path)) must have one line")
        }
        return line
    }

    /// The value that an option or its `-file` form gives; nil where neither is there.
    package static func value(_ option: String, _ text: String?, file: String?) throws(UsageError) -> String? {
        guard let file else { return text }
        guard text == nil else { throw UsageError("\(option) and \(option)-file cannot be combined") }
        return try line(file, of: "\(option)-file")
    }
}
