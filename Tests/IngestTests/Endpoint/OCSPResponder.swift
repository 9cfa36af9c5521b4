import Base
import Crypto
import Foundation
import Glibc
import StoreSimulator
import TestSupport

/// A store whose leaf names a responder, and that responder: the `openssl` program, on a port of its own.
final class OCSPResponder: @unchecked Sendable {
    // `@unchecked Sendable`: set in `init` only; the process is started and ended by one thread each.

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    private static let now = SystemClock().now()
    private let folder: String
    private let process = Process()
    let pki: StorePKI
    let address: String

    /// - Parameters:
    ///   - record: the leaf's in the index: `V` (good), `R` (revoked), or nil: it is not there.
    ///   - location: where the leaf says that its responder is; nil: where it is.
    init(_ record: Character?, location: String? = nil) throws {
        folder = try TemporaryFolder.make()
        let rootKey = try SigningKey.generate(.p384)
        let root = try CertificateIssuer.root(
            CertificateIssuer.Profile(
                commonName: "Root", notBefore: OCSPResponder.now - 86_400_000,
                notAfter: OCSPResponder.now + 10 * 86_400_000, isAuthority: true), key: rootKey)
        let key = try SigningKey.generate(.p384)
        let intermediate = try CertificateIssuer.issue(
            CertificateIssuer.Profile(
                commonName: "Authority", notBefore: OCSPResponder.now - 86_400_000,
                notAfter: OCSPResponder.now + 10 * 86_400_000, isAuthority: true, pathLength: 0,
                markers: [StorePKI.intermediateMarker]), subject: key, issuer: root, issuerKey: rootKey)
        try OCSPResponder.write(intermediate.pem, "\(folder)/authority.pem")
        try OCSPResponder.write(try key.pem(), "\(folder)/authority.key")
        let port = try OCSPResponder.freePort()
        address = "http://127.0.0.1:\(port)/status"
        let leafKey = try SigningKey.generate(.p256)
        var profile = CertificateIssuer.Profile(
            commonName: "Signing", notBefore: OCSPResponder.now - 40 * 86_400_000,
            notAfter: OCSPResponder.now + 86_400_000, markers: [StorePKI.leafMarker])
        profile.statusURL = location ?? address
        let leaf = try CertificateIssuer.issue(profile, subject: leafKey, issuer: intermediate, issuerKey: key)
        pki = StorePKI(root: root, intermediate: intermediate, leaf: leaf, leafKey: leafKey)
        try OCSPResponder.write(try OCSPResponder.line(record, pki, folder), "\(folder)/index.txt")
        try OCSPResponder.start(process, folder, port)
    }

    deinit {
        // SIGTERM is blocked in what is started from one of the pool's threads.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        TemporaryFolder.remove(folder)
    }

    /// The leaf's line in an index as `openssl ca` writes it, or somebody else's.
    private static func line(_ record: Character?, _ pki: StorePKI, _ folder: String) throws -> String {
        guard let record else { return "V\t491231235959Z\t\t7777\tunknown\t/CN=x\n" }
        let date = record == "R" ? "260101000000Z,keyCompromise" : ""
        return "\(record)\t491231235959Z\t\(date)\t\(try serial(of: pki.leaf.der, folder))\tunknown\t/CN=x\n"
    }

    /// One that nobody listens on, because the certificate must name it before its responder can start.
    private static func freePort() throws -> UInt16 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 ? getsockname(listener, pointer, &length) : -1
            }
        }
        guard status == 0 else { throw TestFailure("no free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func start(_ process: Process, _ folder: String, _ port: UInt16) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "ocsp", "-port", String(port), "-index", "index.txt", "-CA", "authority.pem", "-rsigner", "authority.pem",
            "-rkey",
            "authority.key", "-nmin", "60", "-ignore_err",
        ]
        process.currentDirectoryURL = URL(filePath: folder)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It says `ACCEPT [::]:34163 PID=17782` when it listens.
        var line = ""
        while !line.contains("PID="), let more = try output.fileHandleForReading.read(upToCount: 1), !more.isEmpty {
            line += String(decoding: more, as: UTF8.self)
        }
        guard line.contains("ACCEPT") else { throw TestFailure("openssl does not listen: \(line)") }
    }

    private static func serial(of der: [UInt8], _ folder: String) throws -> String {
        try Data(der).write(to: URL(filePath: "\(folder)/leaf.der"))
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = ["x509", "-in", "\(folder)/leaf.der", "-inform", "DER", "-noout", "-serial"]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return String(text.drop { $0 != "=" }.dropFirst().prefix { $0 != "\n" })
    }

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }
}
