import Base
import Markup
import Testing

/// Texts that break pages whose texts are not escaped.
private let hostile = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
    "</title><svg onload=alert(1)>",
    "javascript:alert(1)", "{{7*7}}${7*7}<%= 7*7 %>", "<!--", "-->", "<![CDATA[x]]>", "&lt;script&gt;", "&#x3c;b&#62;",
    "+ADw-script+AD4-", "a\u{202E}gnp.exe", "\u{2066}x\u{2069}", "\u{0}\u{1}\u{1B}[31m", "a\r\nSet-Cookie: x=1",
    "\u{2028}\u{2029}",
    "\u{200B}\u{FEFF}\u{00AD}\u{3164}", "</textarea></style></pre>", "😀 ünï", "", " ", "\n\n<b>",
    String(repeating: "<", count: 10_000),
]

private func rendered(_ node: Node) -> String { String(decoding: HTMLRenderer.fragment(node), as: UTF8.self) }

/// The tags of a rendered text and what is between them, which is escaped: no `<` but that of a tag.
private func split(_ html: String) -> (tags: [String], text: String) {
    var (tags, text) = ([String](), "")
    var rest = html[...]
    while let start = rest.firstIndex(of: "<") {
        text += rest[..<start]
        guard let end = rest[start...].firstIndex(of: ">") else { return (tags + ["unended"], text) }
        tags.append(String(rest[rest.index(after: start)..<end]))
        rest = rest[rest.index(after: end)...]
    }
    return (tags, text + rest)
}

@Suite("Markup")
struct MarkupTests {
    @Test("no text becomes a tag, and every one is there to be read", arguments: hostile)
    func escapesText(_ text: String) {
        let parts = split(rendered(Tag.p { Node.untrusted(text) }))
        #expect(parts.tags.allSatisfy { ["p", "/p", "bdi", "/bdi", "/span", "span class=\"unseen\""].contains($0) })
        #expect(!parts.text.contains(">") && !parts.text.contains("\""))
        let readable = parts.text.replacing("&lt;", with: "<").replacing("&gt;", with: ">")
            .replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("&amp;", with: "&")
        let seen = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7f }
        #expect(readable.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7f }.count >= seen.count)
    }

    @Test("no value leaves its attribute", arguments: hostile)
    func escapesValues(_ text: String) {
        let html = rendered(Tag.input(.value(text), .title(text), .name(text)))
        #expect(split(html).tags.count == 1)
        #expect(html.split(separator: "\"", omittingEmptySubsequences: false).count == 7)
    }

    @Test("a path made of any text stays one path of this server", arguments: hostile)
    func keepsPaths(_ text: String) {
        let path = LocalPath("console", "customers", text).with("q", text)
        #expect(path.text.hasPrefix("/console/customers/"))
        #expect(path.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"<>\"'\\".utf8.contains($0) })
        #expect(split(rendered(Node.link(to: path) { text })).tags.count == 2)
    }

    @Test("addresses elsewhere are https and tell nothing of this page")
    func checksAddresses() throws {
        for text in [
            "javascript:alert(1)", "http://example.com", "data:text/html,x", "//example.com", "https://", "https://a b",
            "https://a\\b",
        ] {
            #expect(ExternalAddress(text) == nil)
        }
        let address = try #require(ExternalAddress("https://example.com/?a=\"b"))
        #expect(
            rendered(Node.link(to: address) { "x" })
                == #"<a href="https://example.com/?a=&quot;b" rel="noopener noreferrer">x</a>"#)
    }

    @Test(
        "what cannot be seen is shown by its number",
        arguments: [
            ("\u{202E}", "U+202E"), ("\u{200B}", "U+200B"), ("\u{0}", "U+0000"), ("\u{A0}", "U+00A0"),
            ("\u{3164}", "U+3164"),
            ("\u{E000}", "U+E000"), ("\u{2028}", "U+2028"), ("\n", "U+000A"), ("\u{E0001}", "U+E0001"),
        ])
    func showsUnseen(_ text: String, _ name: String) {
        #expect(rendered(.untrusted("a\(text)b")) == "<bdi>a<span class=\"unseen\">\(name)</span>b</bdi>")
        #expect(rendered(Tag.span(.title(text))) == "<span title=\"⟨\(name)⟩\"></span>")
    }

    @Test("long ids keep both ends, and the whole in the title")
    func shortensIDs() {
        #expect(rendered(.identifier("dlv_1")) == "<code class=\"id\"><bdi>dlv_1</bdi></code>")
        let long = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        #expect(
            rendered(.identifier(long))
                == "<code class=\"id\" title=\"\(long)\"><bdi>$RCAnonymou…56789abcdef</bdi></code>")
    }

    @Test("JSON is elements, and reads as JSON")
    func rendersJSON() throws {
        let value = JSON.object([
            "a": .array([.int(1), .null, .bool(true)]), "<b>": .string("</pre>\"\u{202E}"), "c": .object([]),
            "d": .array([]),
        ])
        let parts = split(rendered(.json(value, spoken: "Body")))
        #expect(
            parts.tags.allSatisfy {
                $0.hasPrefix("/") || ["pre", "code", "span", "bdi"].contains($0.split(separator: " ")[0])
            })
        let text = parts.text.replacing("&quot;", with: "\"").replacing("&lt;", with: "<").replacing("&gt;", with: ">")
        #expect(text.contains("\"<b>\": \"</pre>\\\"U+202E\""))
        #expect(text.contains("  \"a\": [\n    1,\n    null,\n    true\n  ]"))
    }

    @Test("times are relative, with the absolute one beside and for machines")
    func writesTimes() {
        let instant: Int64 = 1_763_686_923_000
        let clock = PageClock(now: instant + 3 * 3_600_000)
        #expect(
            rendered(clock.time(instant))
                == #"<time datetime="2025-11-21T01:02:03Z" title="2025-11-21 01:02:03 UTC">3 h ago <small>2025-11-21 01:02 UTC</small></time>"#
        )
        let zone = LocalZone { _ in (3600, "CET") }
        #expect(rendered(PageClock(now: instant, zone: zone).absolute(instant)).contains(">2025-11-21 02:02 CET<"))
        // As a payload may have it.
        #expect(rendered(clock.time(.max)).contains("<time"))
    }

    @Test("a document begins with its type, and a pre keeps its first line end")
    func rendersDocuments() {
        let bytes = HTMLRenderer.document(Tag.html(.lang("en")) { Tag.pre { "\nx" } })
        #expect(
            String(decoding: bytes, as: UTF8.self) == "<!DOCTYPE html>\n<html lang=\"en\"><pre>\n\nx</pre></html>\n")
    }
}
