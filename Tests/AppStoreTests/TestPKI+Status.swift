import Foundation

@testable import AppStore

extension TestPKI {
    static let statusURL = "http://status.example/authority"

    /// One whose leaf names a responder, under the same root; its intermediate names none.
    static func withResponder(days: Int = 400) -> TestPKI {
        shared.variant {
            $0.leafExtension = "authorityInfoAccess=OCSP;URI:\(statusURL)"
            $0.leafDays = days
        }
    }

    /// What the intermediate, as its own responder, answers to a request about the leaf.
    ///
    /// - Parameters:
    ///   - record: `V` (good), or `R` with date and reason as `openssl ca` writes them; nil: it does not know the leaf.
    ///   - lifetime: minutes.
    func statusAnswer(to request: [UInt8], _ record: String?, lifetime: Int = 600) -> [UInt8] {
        let serial = OpenSSLTool.run(["x509", "-in", "leaf.der", "-inform", "DER", "-noout", "-serial"], in: folder)
        let number = String(decoding: serial, as: UTF8.self).drop { $0 != "=" }.dropFirst().prefix { $0 != "\n" }
        let parts = (record ?? "V").split(separator: " ")
        let line = [
            String(parts[0]), "491231235959Z", parts.dropFirst().joined(), record == nil ? "7777" : String(number),
            "unknown", "/CN=x",
        ]
        let id = UUID().uuidString
        try? Data((line.joined(separator: "\t") + "\n").utf8).write(to: folder.appending(path: "\(id).txt"))
        try? Data(request).write(to: folder.appending(path: "\(id).req"))
        let converted = OpenSSLTool.run(["x509", "-in", "intermediate.der", "-inform", "DER"], in: folder)
        try? Data(converted).write(to: folder.appending(path: "\(id).pem"))
        _ = OpenSSLTool.run(
            ["ocsp", "-index", "\(id).txt", "-CA", "\(id).pem", "-rsigner", "\(id).pem", "-rkey"]
                + ["intermediate.key", "-reqin", "\(id).req", "-respout", "\(id).resp", "-nmin", String(lifetime)],
            in: folder)
        return (try? Data(contentsOf: folder.appending(path: "\(id).resp"))).map(Array.init) ?? []
    }
}
