import Base
import Testing

/// What the comparison calls broken, and what it lets pass.
struct ContractComparisonTests {
    /// A contract of one operation, with this for its request and its answer.
    private static func contract(
        path: String = "/a", method: String = "post", status: String = "200", operation: String = "",
        request: String = "{}", answer: String = "{}"
    ) throws -> ContractDocument {
        let text = """
            {"openapi":"3.1.0","info":{"version":"1.0.0"},"security":[{"secretKey":[]}],"paths":{"\(path)":{"\(method)":{
            \(operation.isEmpty ? "" : operation + ",")
            "requestBody":{"content":{"application/json":{"schema":\(request)}}},
            "responses":{"\(status)":{"headers":{"X-Tag":{}},"content":{"application/json":{"schema":\(answer)}}}}}}},
            "components":{"schemas":{"Text":{"type":"string"},"Same":{"$ref":"#/components/schemas/Text"}}}}
            """
        return ContractDocument(root: try JSON(parsing: Array(text.utf8)))
    }

    private static func breaks(_ old: ContractDocument, _ new: ContractDocument) -> [String] {
        ContractComparison(old: old, new: new).breaks
    }

    // MARK: - Operations

    @Test func `a path, a method or a status that is gone is broken, and a new status of success too`() throws {
        let old = try Self.contract()
        #expect(Self.breaks(old, old) == [])
        #expect(Self.breaks(old, try Self.contract(path: "/b")) == ["POST /a: gone"])
        #expect(Self.breaks(old, try Self.contract(method: "put")) == ["POST /a: gone"])
        #expect(
            Self.breaks(old, try Self.contract(status: "201")) == [
                "POST /a: answers 201 now", "POST /a: does not answer 200 any more",
            ])
    }

    @Test func `a new refusal is not broken`() throws {
        let old = try Self.contract()
        let text = old.root.text.replacing(#""responses":{"#, with: #""responses":{"404":{},"#)
        let new = ContractDocument(root: try JSON(parsing: Array(text.utf8)))
        #expect(Self.breaks(old, new) == [])
        #expect(Self.breaks(new, old) == ["POST /a: does not answer 404 any more"])
    }

    @Test func `a header or a type of an answer that is gone is broken`() throws {
        let old = try Self.contract()
        func changed(_ text: String, _ other: String) throws -> ContractDocument {
            ContractDocument(root: try JSON(parsing: Array(old.root.text.replacing(text, with: other).utf8)))
        }
        #expect(Self.breaks(old, try changed("X-Tag", "x-tag")) == [])
        #expect(Self.breaks(old, try changed("X-Tag", "X-Other")) == ["POST /a: 200 has no x-tag any more"])
        #expect(
            Self.breaks(old, try changed("application/json", "text/html")) == [
                "POST /a: 200 is not application/json any more", "POST /a: request is not application/json any more",
            ])
    }

    @Test(arguments: [
        (#""parameters":[]"#, #""parameters":[{"in":"query","name":"q","schema":{"type":"string"}}]"#, []),
        (
            #""parameters":[]"#,
            #""parameters":[{"in":"header","name":"X-A","required":true,"schema":{"type":"string"}}]"#,
            ["header x-a: needed now"]
        ),
        (
            #""parameters":[{"in":"query","name":"q","schema":{"type":"string"}}]"#, #""parameters":[]"#,
            ["query q: not read any more"]
        ),
        (
            #""parameters":[{"in":"query","name":"q","schema":{}}]"#,
            #""parameters":[{"in":"query","name":"q","schema":{"type":"integer"}}]"#,
            ["query q: was anything, is integer"]
        ),
        (#""security":[{"publicKey":[]},{"secretKey":[]}]"#, "", ["publicKey does not do any more"]),
        (#""security":[]"#, "", ["needs a key now"]),
        ("", #""security":[{"publicKey":[]},{"secretKey":[]}]"#, []),
        ("", #""security":[]"#, []),
    ])
    func `parameters and keys`(old: String, new: String, expected: [String]) throws {
        let found = Self.breaks(try Self.contract(operation: old), try Self.contract(operation: new))
        #expect(found == expected.map { "POST /a: \($0)" })
    }

    @Test func `a body that is needed now is broken`() throws {
        let old = try Self.contract()
        let text = old.root.text.replacing(#""requestBody":{"#, with: #""requestBody":{"required":true,"#)
        let new = ContractDocument(root: try JSON(parsing: Array(text.utf8)))
        #expect(Self.breaks(old, new) == ["POST /a: a body is needed now"])
        #expect(Self.breaks(new, old) == [])
    }

    // MARK: - Schemas

    /// A change, and what it breaks as a request and as an answer.
    struct Change: Sendable, CustomTestStringConvertible {
        let old: String
        let new: String
        let request: [String]
        let answer: [String]
        var testDescription: String { "\(old) to \(new)" }
    }

    static let changes = [
        Change(old: #"{"type":"string"}"#, new: #"{"type":"string"}"#, request: [], answer: []),
        Change(
            old: #"{"type":"string"}"#, new: #"{"type":["string","null"]}"#, request: [],
            answer: ["$: was string, is null, string"]),
        Change(
            old: #"{"type":["string","null"]}"#, new: #"{"type":"string"}"#,
            request: ["$: was null, string, is string"], answer: []),
        Change(
            old: #"{"type":"number"}"#, new: #"{"type":"integer"}"#, request: ["$: was integer, number, is integer"],
            answer: []),
        Change(
            old: "{}", new: #"{"enum":["a"]}"#,
            request: [#"$: other values than before: "a""#, "$: was anything, is string"], answer: []),
        Change(
            old: #"{"enum":["a","b"]}"#, new: #"{"enum":["a"]}"#, request: [#"$: other values than before: "b""#],
            answer: []),
        Change(
            old: #"{"const":"a"}"#, new: #"{"enum":["a","b"]}"#, request: [],
            answer: [#"$: other values than before: "b""#]),
        Change(
            old: #"{"enum":["a"],"x-may-grow":true}"#, new: #"{"enum":["a","b"],"x-may-grow":true}"#, request: [],
            answer: []),
        Change(
            old: #"{"enum":["a"]}"#, new: #"{"type":"string"}"#, request: [],
            answer: [#"$: other values than before: "a""#]),
        Change(
            old: #"{"properties":{"a":{}}}"#, new: #"{"properties":{"b":{}}}"#, request: ["$.a: gone"],
            answer: ["$.a: gone"]),
        Change(
            old: #"{"properties":{"a":{}}}"#, new: #"{"required":["a"],"properties":{"a":{}}}"#,
            request: ["$.a: needed now"], answer: []),
        Change(
            old: #"{"required":["a"],"properties":{"a":{}}}"#, new: #"{"properties":{"a":{}}}"#, request: [],
            answer: ["$.a: may be missing now"]),
        Change(
            old: #"{"required":["a"],"properties":{"a":{}}}"#, new: "{}", request: ["$.a: gone"],
            answer: ["$.a: gone"]),
        Change(
            old: #"{"items":{"properties":{"a":{"type":"string"}}}}"#,
            new: #"{"items":{"properties":{"a":{"type":"integer"}}}}"#,
            request: ["$[].a: was string, is integer"], answer: ["$[].a: was string, is integer"]),
        Change(
            old: #"{"additionalProperties":{"type":"string"}}"#,
            new: #"{"additionalProperties":{"type":"boolean"}}"#, request: ["$.*: was string, is boolean"],
            answer: ["$.*: was string, is boolean"]),
        Change(
            old: "{}", new: #"{"additionalProperties":false}"#, request: ["$: takes no other members any more"],
            answer: []),
        Change(old: #"{"additionalProperties":false}"#, new: "{}", request: [], answer: []),
        Change(old: #"{"maxLength":9}"#, new: #"{"maxLength":8}"#, request: ["$: another maxLength"], answer: []),
        Change(old: #"{"minimum":1}"#, new: #"{"minimum":0}"#, request: [], answer: ["$: another minimum"]),
        Change(old: "{}", new: #"{"minItems":1}"#, request: ["$: another minItems"], answer: []),
        Change(
            old: #"{"pattern":"a"}"#, new: #"{"pattern":"b"}"#, request: ["$: another pattern"],
            answer: ["$: another pattern"]),
        Change(
            old: ##"{"$ref":"#/components/schemas/Same"}"##, new: #"{"type":"string"}"#, request: [], answer: []),
        Change(
            old: ##"{"$ref":"#/components/schemas/Same"}"##, new: #"{"type":"integer"}"#,
            request: ["$: was string, is integer"], answer: ["$: was string, is integer"]),
        Change(
            old: ##"{"$ref":"#/components/schemas/Same"}"##,
            new: ##"{"anyOf":[{"$ref":"#/components/schemas/Same"},{"type":"null"}]}"##, request: [],
            answer: ["$: other alternatives than before"]),
        Change(
            old: #"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, new: #"{"type":"string"}"#,
            request: ["$: other alternatives than before"], answer: []),
    ]

    @Test(arguments: changes)
    func `what a change breaks depends on who reads`(change: Change) throws {
        let requests = Self.breaks(
            try Self.contract(request: change.old), try Self.contract(request: change.new))
        #expect(requests == change.request.map { "POST /a: request \($0)" })
        let answers = Self.breaks(try Self.contract(answer: change.old), try Self.contract(answer: change.new))
        #expect(answers == change.answer.map { "POST /a: 200 \($0)" })
    }
}
