import Base
import Foundation
import TestSupport

/// A request that RevenueCat's iOS SDK makes, as its own tests recorded it.
struct RecordedRequest {
    let name: String
    let method: String
    let path: String
    let headers: [String: String]
    let body: JSON?

    /// All that are beside the repository, by name.
    static func all() throws -> [RecordedRequest] {
        let folder = ContractFiles.shared.appending(path: "fixtures/ios-requests")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { file in
            let recorded = try JSON(parsing: Array(Data(contentsOf: folder.appending(path: file))))
            guard let url = recorded["request"]?["url"]?.stringValue.flatMap(URL.init(string:)),
                let method = recorded["request"]?["method"]?.stringValue
            else { throw TestFailure("\(file) is no recorded request") }
            let headers = (recorded["headers"]?.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }
            let body = recorded["request"]?["body"]
            return RecordedRequest(
                name: file.replacing(".json", with: ""), method: method, path: url.path(percentEncoded: true),
                headers: Dictionary(uniqueKeysWithValues: headers), body: body == .null ? nil : body)
        }
    }

    /// The same with other values in its body; nil takes a member out.
    func with(_ changes: [String: JSON?]) -> RecordedRequest {
        let kept = (body?.members ?? []).filter { changes[$0.name] == nil }
        let added = changes.compactMap { name, value in value.map { JSON.Member(name: name, value: $0) } }
        return RecordedRequest(
            name: name, method: method, path: path, headers: headers, body: .object(kept + added))
    }
}

extension APIFixture {
    /// Sends it as the SDK would with this host and a key of this installation.
    func send(_ recorded: RecordedRequest) -> HTTPCall {
        var headers = recorded.headers
        let needsKey = headers["Authorization"] != nil
        headers["Authorization"] = nil
        headers["content-type"] = nil
        return call(
            recorded.method, recorded.path, recorded.body, key: needsKey ? APIFixture.publicKey : nil, headers: headers)
    }
}
