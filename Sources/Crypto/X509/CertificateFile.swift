import COpenSSL
import FoundationEssentials

/// Files of certificates: one in DER, or any number in PEM (RFC 7468).
package enum CertificateFile {
    /// A root store of a whole system has about 250 kB.
    package static let maximumSize = 4 * 1024 * 1024

    /// The certificates of a file; throws with a reason for people.
    package static func certificates(at path: String) throws(CertificateFileFailure) -> [Certificate] {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw .unreadable(path: path) }
        guard data.count <= maximumSize, let certificates = certificates(in: Array(data)) else {
            throw .noCertificate(path: path)
        }
        return certificates
    }

    /// The certificates in the bytes of a file, at least one; nil if there is none, or one cannot be parsed or is cut off.
    package static func certificates(in bytes: [UInt8]) -> [Certificate]? {
        if let certificate = Certificate(der: bytes) {
            return [certificate]
        }
        let certificates = pem(bytes)
        return certificates?.isEmpty == false ? certificates : nil
    }

    private static func pem(_ bytes: [UInt8]) -> [Certificate]? {
        bytes.withUnsafeBytes { buffer in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, CInt(clamping: buffer.count)) else { return nil }
            // The end of the file is an error in OpenSSL's queue too.
            defer {
                BIO_free(bio)
                OpenSSLErrors.drain()
            }
            var certificates: [Certificate] = []
            while let block = nextBlock(bio) {
                guard block.name == "CERTIFICATE" else { continue }
                guard let certificate = Certificate(der: block.bytes) else { return nil }
                certificates.append(certificate)
            }
            return isAtEnd ? certificates : nil
        }
    }

    /// Whether the last block was not found, rather than damaged.
    private static var isAtEnd: Bool { ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE }

    private static func nextBlock(_ bio: OpaquePointer) -> (name: String, bytes: [UInt8])? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard PEM_read_bio(bio, &name, &header, &data, &count) == 1 else { return nil }
        defer {
            openssl_free(name)
            openssl_free(header)
            openssl_free(data)
        }
        guard let name, let data else { return nil }
        return (String(cString: name), Array(UnsafeBufferPointer(start: data, count: count)))
    }
}

/// Why a file gave no certificates.
package enum CertificateFileFailure: Error, Equatable, CustomStringConvertible {
    case unreadable(path: String)
    case noCertificate(path: String)

    package var description: String {
        switch self {
        case .unreadable(let path): "\(path) cannot be read"
        case .noCertificate(let path): "\(path) is not a certificate in PEM or DER"
        }
    }
}
