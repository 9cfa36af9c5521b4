import Foundation

/// The `openssl` program.
enum OpenSSLTool {
    private static let path = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var isAvailable: Bool { path != nil }

    /// What it writes to its standard output; nothing if it fails.
    static func run(_ arguments: [String], in folder: URL, input: [UInt8] = []) -> [UInt8] {
        let process = Process()
        let (stdin, stdout) = (Pipe(), Pipe())
        process.executableURL = path.map { URL(filePath: $0) }
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return [] }
        stdin.fileHandleForWriting.write(Data(input))
        try? stdin.fileHandleForWriting.close()
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Array(output)
    }
}
