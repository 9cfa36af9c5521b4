import Base
import FoundationEssentials
import Subscriptions
import Testing

/// Designs that RevenueCat's editor made, in answers of `GET /v1/subscribers/{app_user_id}/offerings`: `ENTITLED_PAYWALLS` names
/// a folder of them, such as the public RevenueCat/paywall-preview-resources has.
struct PaywallFixtureTests {
    private static let folder = ProcessInfo.processInfo.environment["ENTITLED_PAYWALLS"]

    @Test(.enabled(if: folder != nil, "skipped: ENTITLED_PAYWALLS names no folder of answers with paywalls"))
    func `what RevenueCat's editor makes is taken`() throws {
        let folder = try #require(Self.folder)
        var judged = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.hasSuffix(".json") {
            let bytes = try #require(FileManager.default.contents(atPath: "\(folder)/\(name)"))
            let answer = try JSON(parsing: Array(bytes))
            func judge(_ shape: DocumentShape, _ document: JSON?, _ place: String) {
                guard let document, document != .null else { return }
                judged += 1
                let flaws = shape.flaws(in: document).map {
                    "\($0.place): \($0.found.text.prefix(80)), not \($0.allowed)"
                }
                #expect(flaws == [], "\(name) \(place)")
            }
            judge(PaywallShapes.userInterface, answer["ui_config"], "ui_config")
            for offering in answer["offerings"]?.arrayValue ?? [] {
                let place = offering["identifier"]?.stringValue ?? ""
                judge(PaywallShapes.paywall, offering["paywall"], "\(place).paywall")
                judge(PaywallComponentShapes.paywall, offering["paywall_components"], "\(place).paywall_components")
            }
        }
        #expect(judged > 0)
    }
}
