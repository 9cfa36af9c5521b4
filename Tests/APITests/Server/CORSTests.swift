import API
import Base
import TestSupport
import Testing

/// Web pages of other origins.
struct CORSTests {
    private static let page = "https://app.example.com"
    private static let path = "/v1/product_entitlement_mapping"
    private static let asking = [
        "Origin": page, "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization,x-platform",
    ]

    private func names(_ call: HTTPCall) -> [String] {
        call.headers.map(\.name).filter { $0.hasPrefix("access-control") || $0 == "vary" }
    }

    @Test func `without origins in the configuration there is no such header`() throws {
        let api = try KeyedAPI()
        let asked = api.call("OPTIONS", CORSTests.path, key: nil, headers: CORSTests.asking)
        #expect(asked.status == 405 && names(asked).isEmpty)
        #expect(names(api.call("GET", CORSTests.path, headers: ["Origin": CORSTests.page])).isEmpty)
    }

    @Test func `a page of the configuration may ask before it sends, and reads the answer`() throws {
        let api = try KeyedAPI { $0.corsOrigins = [CORSTests.page] }
        let asked = api.call("OPTIONS", CORSTests.path, key: nil, headers: CORSTests.asking)
        #expect(asked.status == 204 && asked.body.isEmpty)
        #expect(asked.header("access-control-allow-origin") == CORSTests.page)
        #expect(asked.header("access-control-allow-methods") == "GET")
        #expect(asked.header("access-control-allow-headers") == "authorization,x-platform")
        #expect(asked.header("access-control-allow-credentials") == nil)
        let answer = api.call("GET", CORSTests.path, headers: ["Origin": CORSTests.page])
        #expect(answer.status == 200)
        #expect(answer.header("access-control-allow-origin") == CORSTests.page)
        #expect(answer.header("vary") == "Origin")
        // An error too, or the page could not say what is wrong.
        let wrong = api.call("GET", CORSTests.path, key: "appl_of_nobody", headers: ["Origin": CORSTests.page])
        #expect(wrong.status == 401 && wrong.header("access-control-allow-origin") == CORSTests.page)
    }

    @Test(arguments: ["https://evil.example.com", "https://app.example.com.evil.com", "http://app.example.com", "null"])
    func `another page may not`(origin: String) throws {
        let api = try KeyedAPI { $0.corsOrigins = [CORSTests.page] }
        var asking = CORSTests.asking
        asking["Origin"] = origin
        #expect(api.call("OPTIONS", CORSTests.path, key: nil, headers: asking).status == 405)
        let answer = api.call("GET", CORSTests.path, headers: ["Origin": origin])
        #expect(answer.header("access-control-allow-origin") == nil)
        #expect(answer.header("vary") == "Origin")
    }

    @Test func `any page may with an asterisk`() throws {
        let api = try KeyedAPI { $0.corsOrigins = ["*"] }
        #expect(
            api.call("OPTIONS", CORSTests.path, key: nil, headers: CORSTests.asking)
                .header("access-control-allow-origin") == "*")
        #expect(
            api.call("GET", CORSTests.path, headers: ["Origin": "https://x.example"])
                .header("access-control-allow-origin") == "*")
    }

    @Test func `what needs a secret key is not for pages, and a secret key is refused from them`() throws {
        let api = try KeyedAPI { $0.corsOrigins = ["*"] }
        var asking = CORSTests.asking
        asking["Access-Control-Request-Method"] = "DELETE"
        let asked = api.call("OPTIONS", "/v1/subscribers/a/offerings/override", key: nil, headers: asking)
        #expect(asked.status == 405 && asked.header("access-control-allow-origin") == nil)
        for origin in [CORSTests.page, "null"] {
            let sent = api.call("GET", CORSTests.path, key: KeyedAPI.secretKey, headers: ["Origin": origin])
            #expect(sent.status == 403 && sent.json["code"] == .int(7243))
        }
        // The host's own pages are no strangers.
        #expect(
            api.call("GET", CORSTests.path, key: KeyedAPI.secretKey, headers: ["Origin": "http://localhost"]).status
                == 200)
    }
}
