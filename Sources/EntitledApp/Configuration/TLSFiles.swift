import Daemon
import HTTP

/// Where a listener's certificate chain and private key are: absolute paths, both in PEM.
package struct TLSFiles: Sendable, Equatable {
    package let certificate: String
    package let key: String

    /// Why they cannot be used now: the key of the configuration to look at, and the reason.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        package let key: String
        package let path: String
        package let reason: String

        package var description: String { "\(key): \(path): \(reason)" }
    }

    /// Reads both, and checks that they belong together.
    package func identity(
        reading readFile: (String) -> FileReading = FileReading.read
    ) throws(Failure) -> TLSIdentity {
        let keys = (certificate: "ingest.tls_certificate_file", key: "ingest.tls_key_file")
        let chain = try TLSFiles.contents(certificate, keys.certificate, readFile)
        let privateKey = try TLSFiles.contents(key, keys.key, readFile)
        do {
            return try TLSIdentity(certificate: chain, key: privateKey)
        } catch {
            if case .certificate = error {
                throw Failure(key: keys.certificate, path: certificate, reason: error.description)
            }
            throw Failure(key: keys.key, path: key, reason: error.description)
        }
    }

    private static func contents(
        _ path: String, _ key: String, _ readFile: (String) -> FileReading
    ) throws(Failure) -> [UInt8] {
        let file = readFile(path)
        guard case .contents(let bytes) = file else {
            throw Failure(key: key, path: path, reason: file.failure ?? "it cannot be read")
        }
        return bytes
    }
}
