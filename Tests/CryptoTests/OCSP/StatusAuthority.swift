import Crypto
import Foundation
import Testing

/// An issuer with its leaf, and those who answer for it, or pretend to: made and asked by the `openssl` program, so that
/// nothing under test takes part in answering.
final class StatusAuthority: Sendable {
    enum Record: Sendable {
        case good, unknown
        /// The name of a reason as `openssl` has it; nil: none given.
        case revoked(String?)
    }

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")
    static let shared = StatusAuthority()
    static let url = "http://status.example/authority"
    /// In seconds; the index of `openssl` has no finer times.
    static let revocationDate: Int64 = 1_767_225_600

    private let folder = FileManager.default.temporaryDirectory.appending(path: "entitled-ocsp-\(UUID().uuidString)")

    private init() {
        atexit { try? FileManager.default.removeItem(at: StatusAuthority.shared.folder) }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = [
            "req.cnf": "[req]\ndistinguished_name=dn\n[dn]\n",
            "authority.ext":
                "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign,digitalSignature\n",
            "leaf.ext": "authorityInfoAccess=caIssuers;URI:http://a.example/,OCSP;URI:ldap://x/,OCSP;URI:\(Self.url)\n",
            "responder.ext": "extendedKeyUsage=OCSPSigning\nnoCheck=ignored\n",
            "plain.ext": "keyUsage=critical,digitalSignature\n",
        ]
        for (name, text) in files {
            try? Data(text.utf8).write(to: folder.appending(path: name))
        }
        make("root", "Root", serial: "1", by: nil, "authority.ext")
        make("issuer", "Authority", serial: "2", by: "root", "authority.ext")
        make("leaf", "Leaf", serial: "0x1001", by: "issuer", "leaf.ext")
        make("other", "Other", serial: "0x1002", by: "issuer", "plain.ext")
        make("responder", "Responder", serial: "3", by: "issuer", "responder.ext")
        make("brief", "Brief", serial: "4", by: "issuer", "responder.ext", days: "1")
        make("unfit", "Unfit", serial: "5", by: "issuer", "plain.ext")
        make("uncle", "Uncle", serial: "6", by: "root", "responder.ext")
        make("impostor", "Authority", serial: "2", by: nil, "authority.ext")
        make("stranger", "Responder", serial: "3", by: "impostor", "responder.ext")
    }

    private func make(
        _ name: String, _ subject: String, serial: String, by issuer: String?, _ extensions: String, days: String = "30"
    ) {
        run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "\(name).key")
        run(
            "req", "-new", "-config", "req.cnf", "-key", "\(name).key", "-subj", "/CN=\(subject)", "-out", "\(name).csr"
        )
        let signing = issuer.map { ["-CA", "\($0).pem", "-CAkey", "\($0).key"] } ?? ["-signkey", "\(name).key"]
        run(
            ["x509", "-req", "-in", "\(name).csr", "-set_serial", serial, "-days", days, "-sha256"]
                + ["-extfile", extensions, "-out", "\(name).pem"] + signing)
    }

    func certificate(_ name: String) throws -> Certificate {
        let path = folder.appending(path: "\(name).pem").path
        return try #require(try CertificateFile.certificates(at: path).first)
    }

    /// What a responder answers to a request, in DER.
    ///
    /// - Parameters:
    ///   - lifetime: minutes until `nextUpdate`; nil: none is given.
    func answer(
        to request: [UInt8], _ record: Record, by signer: String = "responder", lifetime: Int? = 60,
        _ options: [String] = []
    ) throws -> [UInt8] {
        let id = UUID().uuidString
        let (index, asked, given) = ("\(id).txt", "\(id).req", "\(id).resp")
        try Data(StatusAuthority.line(record).utf8).write(to: folder.appending(path: index))
        try Data(request).write(to: folder.appending(path: asked))
        run(
            ["ocsp", "-index", index, "-CA", "issuer.pem", "-rsigner", "\(signer).pem", "-rkey", "\(signer).key"]
                + ["-reqin", asked, "-respout", given] + (lifetime.map { ["-nmin", String($0)] } ?? []) + options)
        return Array(try Data(contentsOf: folder.appending(path: given)))
    }

    /// The leaf's line in an index as `openssl ca` writes it.
    private static func line(_ record: Record) -> String {
        switch record {
        case .good: "V\t491231235959Z\t\t1001\tunknown\t/CN=Leaf\n"
        case .revoked(let reason):
            "R\t491231235959Z\t260101000000Z\(reason.map { ",\($0)" } ?? "")\t1001\tunknown\t/CN=Leaf\n"
        case .unknown: "V\t491231235959Z\t\t7777\tunknown\t/CN=Somebody\n"
        }
    }

    private func run(_ arguments: String...) { run(arguments) }

    private func run(_ arguments: [String]) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
    }
}
