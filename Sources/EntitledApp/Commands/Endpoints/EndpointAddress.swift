import Base
import CLI
import Daemon
import HTTP

/// Whether webhooks may go to a URL, judged when an endpoint is added. The sender judges again at every attempt.
enum EndpointAddress {
    /// The URL as it will be used. Throws `UsageError` for what is no such URL, `CommandFailure` for one that leads where nothing
    /// may be sent.
    ///
    /// - Parameters:
    ///   - isProxied: whether a proxy resolves names, and judges them.
    ///   - warn: takes a warning about a URL that can be used, and leads nowhere now.
    static func check(
        _ text: String, allowed: [Network], isProxied: Bool = false, warn: (String) -> Void = { _ in }
    ) throws -> String {
        let judgement = LookedUpAddress(allowed: allowed, isProxied: isProxied).judge(text)
        switch judgement {
        case .malformed(let reason): throw UsageError("\(Terminal.harmless(text)) cannot be used: \(reason)")
        case .refused, .unresolved: throw CommandFailure(judgement.objection ?? "")
        case .usable(let url, let warning):
            if let warning { warn("warning: \(warning)") }
            return url
        }
    }

    /// A warning where the query of a URL seems to hold a secret: URLs are stored and shown as they are.
    static func warning(about url: String) -> String? {
        let names = url.drop { $0 != "?" }.dropFirst().split(separator: "&").map {
            $0.prefix { $0 != "=" }.lowercased()
        }
        let words = ["token", "key", "secret", "password", "auth", "signature", "sig"]
        guard let name = names.first(where: { name in words.contains { name.contains($0) } }) else { return nil }
        return
            "warning: the URL's query has \"\(Terminal.harmless(name))\"; URLs are stored and shown as they are, while"
            + " --authorization and --header are sealed"
    }
}
