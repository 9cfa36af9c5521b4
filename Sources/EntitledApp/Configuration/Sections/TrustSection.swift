import AppStore
import Base
import Daemon

extension Configuration {
    /// The roots that a chain may end in: by digest, or as a certificate from a file.
    package struct Trust: Sendable {
        /// 32 bytes each.
        package let rootSHA256: [[UInt8]]
        /// DER, from all of `root_files`.
        package let rootCertificates: [[UInt8]]
        /// 32 bytes each, for app receipts.
        package let receiptRootSHA256: [[UInt8]]
        /// How much it counts whether certificates are revoked.
        package let ocsp: RevocationMode

        /// Apple Root CA - G3, https://www.apple.com/certificateauthority/.
        static let appleRoot = "63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179"
        /// Apple Root CA, the same page.
        private static let appleReceiptRoot = "B0B1730ECBC7FF4505142C49F1295E6EDA6BCAED7E2C68C5BE91B5A11001F024"

        init(_ section: ConfigurationSection) {
            rootSHA256 = section.value(
                "root_sha256", .list(of: .sha256), default: Hex.decode(Trust.appleRoot).map { [$0] } ?? [],
                "Trusted roots, by the SHA-256 of their certificates. The default is Apple Root CA - G3.")
            rootCertificates = section.value(
                "root_files", .list(of: .certificateFile), default: [],
                "Further roots, as files (PEM or DER); for tests, such as the root of storesim."
            ).flatMap { $0 }
            receiptRootSHA256 = section.value(
                "receipt_root_sha256", .list(of: .sha256),
                default: Hex.decode(Trust.appleReceiptRoot).map { [$0] } ?? [],
                "The same for app receipts, which apps without StoreKit 2 post. The default is Apple Root CA; root_files count"
                    + " here too.")
            ocsp = section.value(
                "ocsp", .word, default: .soft,
                "Whether Apple's OCSP responders are queried, by http:, for revoked certificates. soft: data that a revoked"
                    + " certificate signed is rejected, and nothing waits for an answer. hard: without a fresh answer data is rejected"
                    + " too (503), and Apple sends it again later. A certificate that names no responder passes in both modes."
            )
        }
    }
}
