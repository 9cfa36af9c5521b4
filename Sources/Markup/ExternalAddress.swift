import Base

/// An address on another server that a page may lead to: `https:` alone, without control characters or spaces.
package struct ExternalAddress: Sendable, Equatable {
    package let text: String

    /// Nil for every other text.
    package init?(_ text: String) {
        let scheme = "https://"
        guard text.utf8.starts(with: scheme.utf8), text.utf8.count > scheme.utf8.count,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }
}

extension Node {
    /// A link that tells the other server nothing and gives it no hold on this page.
    package static func link(to address: ExternalAddress, @MarkupBuilder content: () -> [Node]) -> Node {
        Tag.a(.href(address: address), .noReferrer, content: content)
    }

    /// A link to a page of this server.
    package static func link(to path: LocalPath, @MarkupBuilder content: () -> [Node]) -> Node {
        Tag.a(.href(path), content: content)
    }
}
