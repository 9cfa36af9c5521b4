import Foundation
import Glibc
import TestSupport

/// The openssl program as the other end of a TLS connection, and as the maker of certificates.
final class TLSPeer {
    static let program = "/usr/bin/openssl"
    static var isAvailable: Bool { access(program, X_OK) == 0 }

    /// A certificate that nobody signed but itself, and its key, both in PEM.
    struct Pair {
        let certificate: [UInt8]
        let key: [UInt8]

        init(_ name: String, _ key: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]) throws {
            let (certificate, made) = try TemporaryFolder.with { folder in
                let paths = (certificate: "\(folder)/certificate.pem", key: "\(folder)/key.pem")
                _ = try TLSPeer.output(
                    ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-keyout", paths.key]
                        + ["-out", paths.certificate, "-newkey"] + key)
                return (
                    try Data(contentsOf: URL(filePath: paths.certificate)),
                    try Data(contentsOf: URL(filePath: paths.key))
                )
            }
            self.certificate = Array(certificate)
            self.key = Array(made)
        }
    }

    private let process = Process()
    private let input = Pipe()
    private let transcript = Pipe()

    /// Connects; `arguments` are more of `openssl s_client`.
    init(port: UInt16, _ arguments: [String] = []) throws {
        process.executableURL = URL(filePath: TLSPeer.program)
        process.arguments =
            ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", "-ign_eof"] + arguments
        process.standardInput = input
        process.standardOutput = transcript
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func send(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// What it says, handshake and answers alike, up to this text or to its end.
    func read(until text: String) -> String {
        var all = ""
        while !all.contains(text) {
            let data = transcript.fileHandleForReading.availableData
            if data.isEmpty { break }
            all += String(decoding: data, as: UTF8.self)
        }
        return all
    }

    /// All that it says until the connection is closed.
    func readAll() -> String { read(until: "\u{0}") }

    static func output(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("openssl \(arguments[0]) failed") }
        return String(decoding: data, as: UTF8.self)
    }
}
