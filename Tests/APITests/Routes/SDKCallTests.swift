import API
import Base
import Foundation
import TestSupport
import Testing

/// What RevenueCat's SDKs call, and what they are answered. `SDKBodyTests` have bodies that SDKs send, and look at the answers'.
struct SDKCallTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/EntitledApp/EntitledApp.docc/Apps.md")

    @Test func `every call of the SDKs gets the answer that the page says`() throws {
        let api = try KeyedAPI()
        for call in SDKCallTable.calls {
            let path = call.path.replacing("{app_user_id}", with: "somebody").replacing("{domain}", with: "app")
                .replacing("{transaction}", with: "1").replacing("{receipt_id}", with: "1")
            let answer = api.call(
                call.method, path, call.method == "POST" ? .object([]) : nil, headers: ["X-Platform": "iOS"])
            #expect(answer.status == call.status, "\(call.method) \(path): \(answer.status) \(answer.text)")
            #expect(call.answer.hasPrefix("\(call.status)") || call.status == 400 || call.status == 201, "\(path)")
            // What an SDK would keep and send again.
            #expect(answer.status != 404 || answer.json["message"]?.stringValue?.contains("does not support") == true)
        }
    }

    @Test func `every route that says it is not supported is a call of an SDK or of another store's backend`() {
        let known = Set(SDKCallTable.calls.map { "\($0.method) \($0.path)" })
        let unsupported = UnsupportedRoutes().routes.filter { !$0.isSupported }.map { "\($0.method) \($0.path)" }
        #expect(Set(unsupported).subtracting(known) == [])
        #expect(known.count == SDKCallTable.calls.count)
    }

    @Test func `the page of apps has every call`() throws {
        var text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.range(of: SDKCallTable.heading))
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            text = text[..<start.lowerBound] + SDKCallTable.section
            try Data(text.utf8).write(to: Self.page)
        }
        #expect(text.hasSuffix(SDKCallTable.section))
    }
}
