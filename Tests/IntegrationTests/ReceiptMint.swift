import Base
import Crypto
import Foundation
import StoreSimulator
import TestSupport

/// Makes app receipts as Apple does, signed by a store's leaf with the `openssl` program.
enum ReceiptMint {
    private static let path = "/usr/bin/openssl"
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: path) }

    struct Purchase {
        let id: String
        var originalID: String?
        let purchased: Int64
    }

    /// The attributes of a receipt, in DER.
    static func payload(
        type: String = "Production", bundleID: String, created: Int64, _ purchases: [Purchase]
    ) -> [UInt8] {
        let made = ascii(Timestamp.text(created))
        let own = [attribute(0, utf8(type)), attribute(2, utf8(bundleID)), attribute(12, made)]
        let bought = purchases.map { purchase in
            let purchased = ascii(Timestamp.text(purchase.purchased))
            var parts = [attribute(1703, utf8(purchase.id)), attribute(1704, purchased)]
            if let original = purchase.originalID { parts.append(attribute(1705, utf8(original))) }
            return attribute(17, value(0x31, parts.flatMap { $0 }))
        }
        return value(0x31, (own + bought).flatMap { $0 })
    }

    /// - Parameter digest: as `openssl` names it.
    static func sign(_ payload: [UInt8], _ pki: StorePKI, digest: String = "sha256") throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "receipt-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: folder.appending(path: name)) }
        try write("payload", payload)
        try write("leaf.pem", Array(pki.leaf.pem.utf8))
        try write("chain.pem", Array((pki.intermediate.pem + pki.root.pem).utf8))
        try write("key.pem", Array(try pki.leafKey.pem().utf8))
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        process.arguments = [
            "smime", "-sign", "-binary", "-nodetach", "-outform", "DER", "-md", digest, "-in", "payload", "-signer",
            "leaf.pem", "-inkey", "key.pem", "-certfile", "chain.pem", "-out", "receipt",
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("openssl signs no receipt") }
        return Array(try Data(contentsOf: folder.appending(path: "receipt")))
    }

    // MARK: - DER

    private static func attribute(_ number: Int, _ content: [UInt8]) -> [UInt8] {
        let bytes = number < 128 ? [UInt8(number)] : [UInt8(number >> 8), UInt8(number & 0xff)]
        return value(0x30, value(0x02, bytes) + value(0x02, [1]) + value(0x04, content))
    }

    private static func utf8(_ text: String) -> [UInt8] { value(0x0c, Array(text.utf8)) }
    private static func ascii(_ text: String) -> [UInt8] { value(0x16, Array(text.utf8)) }

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 128 ? [UInt8(count)] : [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(count & 0xff)]
        return [tag] + length + content
    }
}
