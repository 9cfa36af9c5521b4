import Base
import Glibc

/// What a configuration depends on besides its text; a test gives its own.
package struct ConfigurationContext: Sendable {
    package let environment: [String: String]
    /// Absolute; relative paths start here.
    package let workingDirectory: String
    /// Whether the superuser runs the process, which changes the default of `state_dir`.
    package let isSuperuser: Bool
    package let readFile: @Sendable (String) -> FileReading

    package init(
        environment: [String: String], workingDirectory: String, isSuperuser: Bool,
        readFile: @escaping @Sendable (String) -> FileReading
    ) {
        self.environment = environment
        self.workingDirectory = workingDirectory
        self.isSuperuser = isSuperuser
        self.readFile = readFile
    }

    /// Those of this process.
    package static func ofProcess() -> ConfigurationContext {
        ConfigurationContext(
            environment: processEnvironment(), workingDirectory: currentDirectory(), isSuperuser: geteuid() == 0,
            readFile: FileReading.read)
    }

    /// An absolute path without `.`, `..` and doubled slashes; links are not followed.
    package func resolve(_ path: String) -> String {
        let absolute = path.hasPrefix("/") ? path : workingDirectory + "/" + path
        var parts: [Substring] = []
        for part in absolute.split(separator: "/") where part != "." {
            if part == ".." {
                _ = parts.popLast()
            } else {
                parts.append(part)
            }
        }
        return "/" + parts.joined(separator: "/")
    }

    private static func processEnvironment() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let line = entry.pointee {
            let parts = String(cString: line).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 {
                variables[String(parts[0])] = String(parts[1])
            }
            entry += 1
        }
        return variables
    }

    private static func currentDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }
}
