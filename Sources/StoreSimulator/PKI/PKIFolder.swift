import Crypto

/// The files of a store's certificates: `root.pem`, `intermediate.pem`, `leaf.pem`, `chain.pem` (leaf first) and
/// `leaf.key` (PKCS#8, mode 0600).
package struct PKIFolder: Sendable {
    package enum Failure: Error, Equatable, CustomStringConvertible {
        /// A file of this name is there already.
        case occupied(String)
        /// The file is not what its name says.
        case malformed(String)

        package var description: String {
            switch self {
            case .occupied(let path): "\(path) is there already (--force replaces it)"
            case .malformed(let path): "\(path) is not what its name says"
            }
        }
    }

    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    package var rootPath: String { "\(path)/root.pem" }

    /// Makes the folder where it is missing. Without `force` no file is replaced.
    package func write(_ pki: StorePKI, force: Bool = false) throws {
        try FileAccess.makeFolder(path)
        let files = [
            ("root.pem", pki.root.pem), ("intermediate.pem", pki.intermediate.pem), ("leaf.pem", pki.leaf.pem),
            ("chain.pem", pki.chain.map(\.pem).joined()), ("leaf.key", try pki.leafKey.pem()),
        ]
        if !force, let taken = files.first(where: { FileAccess.exists("\(path)/\($0.0)") }) {
            throw Failure.occupied("\(path)/\(taken.0)")
        }
        for (name, text) in files {
            try FileAccess.write("\(path)/\(name)", Array(text.utf8), mode: name == "leaf.key" ? 0o600 : 0o644)
        }
    }

    package func load() throws -> StorePKI {
        func certificate(_ name: String) throws -> CertificateIssuer.Certificate {
            let text = String(decoding: try FileAccess.read("\(path)/\(name)"), as: UTF8.self)
            guard let der = PEMBlock.decode("CERTIFICATE", text)?.first else {
                throw Failure.malformed("\(path)/\(name)")
            }
            return CertificateIssuer.Certificate(der: der)
        }
        return StorePKI(
            root: try certificate("root.pem"), intermediate: try certificate("intermediate.pem"),
            leaf: try certificate("leaf.pem"),
            leafKey: try SigningKey(pem: String(decoding: try FileAccess.read("\(path)/leaf.key"), as: UTF8.self)))
    }
}
