import Base
import Crypto
import Foundation

@testable import AppStore

/// Certificates like Apple's, made by the `openssl` program, so that nothing under test takes part in making them.
final class TestPKI: Sendable {
    struct Flaws {
        var leafMarker = true
        var intermediateMarker = true
        var intermediateIsAuthority = true
        var intermediateExtension = ""
        var leafKey = "prime256v1"
        var leafDays = 400
        var leafExtension = ""
        var leafIsIssuedByRoot = false
        var intermediateDigest = "sha384"
    }

    static let shared = TestPKI(name: "Example")
    static let stranger = TestPKI(name: "Example")
    static let isAvailable = OpenSSLTool.isAvailable

    /// Of all that this process makes; gone when it ends.
    private static let parent: URL = {
        atexit { try? FileManager.default.removeItem(at: TestPKI.parent) }
        return FileManager.default.temporaryDirectory.appending(path: "entitled-pki-\(UUID().uuidString)")
    }()

    let name: String
    let folder: URL
    private let rootFolder: URL

    init(name: String, flaws: Flaws = Flaws(), under other: TestPKI? = nil) {
        self.name = name
        folder = TestPKI.parent.appending(path: UUID().uuidString)
        rootFolder = other?.folder ?? folder
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        write("req.cnf", "[req]\ndistinguished_name=dn\n[dn]\n")
        if other == nil {
            makeRoot()
        }
        makeIntermediate(flaws)
        makeLeaf(flaws)
    }

    func variant(_ change: (inout Flaws) -> Void) -> TestPKI {
        var flaws = Flaws()
        change(&flaws)
        return TestPKI(name: name, flaws: flaws, under: self)
    }

    // MARK: - Certificates

    var leaf: [UInt8] { read(folder, "leaf.der") }
    var intermediate: [UInt8] { read(folder, "intermediate.der") }
    var root: [UInt8] { read(rootFolder, "root.der") }
    /// Another certificate of the root: the same name and key, other dates.
    var renewedRoot: [UInt8] { read(rootFolder, "renewed.der") }
    var chain: [[UInt8]] { [leaf, intermediate, root] }

    var trust: TrustAnchors { TrustAnchors(fingerprints: [Digest.sha256(root)]) }
    var trustByFile: TrustAnchors { TrustAnchors(certificates: Certificate(der: root).map { [$0] } ?? []) }

    private func makeRoot() {
        key("root", "secp384r1")
        write("root.ext", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n")
        request("root", "\(name) Root")
        for (file, days) in [("root", "8000"), ("renewed", "9000")] {
            openssl(
                "x509", "-req", "-in", "root.csr", "-signkey", "root.key", "-days", days, "-sha384", "-extfile",
                "root.ext", "-outform", "DER", "-out", "\(file).der")
        }
    }

    private func makeIntermediate(_ flaws: Flaws) {
        var lines = [flaws.intermediateIsAuthority ? "basicConstraints=critical,CA:TRUE,pathlen:0" : ""]
        lines += ["keyUsage=critical,keyCertSign,cRLSign", flaws.intermediateExtension]
        lines.append(flaws.intermediateMarker ? "1.2.840.113635.100.6.2.1=ASN1:NULL" : "")
        key("intermediate", "secp384r1")
        issue("intermediate", "\(name) Authority", days: 3000, lines, by: rootFolder, "root", flaws.intermediateDigest)
    }

    private func makeLeaf(_ flaws: Flaws) {
        var lines = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", flaws.leafExtension]
        lines.append(flaws.leafMarker ? "1.2.840.113635.100.6.11.1=ASN1:NULL" : "")
        key("leaf", flaws.leafKey)
        let issuer = flaws.leafIsIssuedByRoot ? (rootFolder, "root") : (folder, "intermediate")
        issue("leaf", "\(name) Signing", days: flaws.leafDays, lines, by: issuer.0, issuer.1)
    }

    private func issue(
        _ file: String, _ subject: String, days: Int, _ lines: [String], by issuerFolder: URL, _ issuer: String,
        _ digest: String = "sha384"
    ) {
        write("\(file).ext", lines.joined(separator: "\n") + "\n")
        request(file, subject)
        let issuer = issuerFolder.appending(path: issuer).path
        openssl(
            "x509", "-req", "-in", "\(file).csr", "-CA", "\(issuer).der", "-CAform", "DER", "-CAkey", "\(issuer).key",
            "-set_serial", String(Int.random(in: 1...Int.max)), "-days", String(days), "-\(digest)",
            "-extfile", "\(file).ext", "-outform", "DER", "-out", "\(file).der")
    }

    private func key(_ file: String, _ curve: String) {
        if curve == "rsa" {
            openssl("genrsa", "-out", "\(file).key", "2048")
        } else {
            openssl("ecparam", "-name", curve, "-genkey", "-noout", "-out", "\(file).key")
        }
    }

    private func request(_ file: String, _ subject: String) {
        openssl(
            "req", "-new", "-config", "req.cnf", "-key", "\(file).key", "-subj", "/CN=\(subject)/O=Example/C=US",
            "-out", "\(file).csr")
    }

    // MARK: - Signing

    static func x5c(_ chain: [[UInt8]]) -> JSON { .strings(chain.map { Base64.encode($0) }) }

    /// A JWS with Apple's header, unless another one is given.
    func sign(_ payload: JSON, header: JSON? = nil, chain: [[UInt8]]? = nil) -> [UInt8] {
        sign(payload.bytes, header: header, chain: chain)
    }

    func sign(_ payload: [UInt8], header: JSON? = nil, chain: [[UInt8]]? = nil) -> [UInt8] {
        let header = header ?? .object(["alg": "ES256", "x5c": TestPKI.x5c(chain ?? self.chain)])
        return sign(header: header.bytes, payload)
    }

    func sign(header: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        let signed = Base64.encodeURL(header) + "." + Base64.encodeURL(payload)
        let der = openssl("dgst", "-sha256", "-sign", "leaf.key", input: Array(signed.utf8))
        return Array((signed + "." + Base64.encodeURL(TestPKI.rawSignature(der))).utf8)
    }

    /// r ‖ s of a DER signature; 64 other bytes for one that is of no EC key.
    private static func rawSignature(_ der: [UInt8]) -> [UInt8] {
        guard der.count < 80, der.count > 8, der[0] == 0x30 else { return Array(repeating: 7, count: 64) }
        let rLength = Int(der[3])
        let r = der[4..<(4 + rLength)]
        let s = der[(6 + rLength)...]
        return [r, s].flatMap { number in
            let digits = Array(number.drop { $0 == 0 }.suffix(32))
            return Array(repeating: 0, count: 32 - digits.count) + digits
        }
    }

    // MARK: - Files

    @discardableResult
    private func openssl(_ arguments: String..., input: [UInt8] = []) -> [UInt8] {
        OpenSSLTool.run(arguments, in: folder, input: input)
    }

    private func write(_ file: String, _ text: String) {
        try? Data(text.utf8).write(to: folder.appending(path: file))
    }

    private func read(_ folder: URL, _ file: String) -> [UInt8] {
        (try? Data(contentsOf: folder.appending(path: file))).map(Array.init) ?? []
    }
}

extension JSON: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSON: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .int(value) }
}
