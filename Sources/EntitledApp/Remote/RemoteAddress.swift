import Base
import CLI
import Database
import HTTP

/// Where an operator API is.
struct RemoteAddress: Sendable, Equatable {
    /// Without a slash at the end; what paths such as `/operator/v1/me` are put behind.
    let base: String
    /// Scheme, host and port, for messages.
    let origin: String
    let isPlain: Bool

    private static let root = "/operator/v1"

    /// - Parameter name: of the option or variable that gave it.
    init(_ text: String, named name: String) throws(UsageError) {
        func refused(_ reason: String) -> UsageError { UsageError("\(name) \(reason)") }
        let url: OutgoingURL
        do {
            url = try OutgoingURL(parsing: text)
        } catch .credentials {
            throw refused("has a user or password in it: the API takes a key, by --key-file")
        } catch {
            throw refused("\(Terminal.harmless(text)) cannot be used: \(error)")
        }
        guard !url.text.contains("?") else {
            throw refused("has a query: give the address of the console, such as https://console.example.com")
        }
        if url.scheme == .http, !RemoteAddress.isLoopback(url) {
            throw refused(
                "\(url.origin) would send the key unencrypted: http is for this host's own addresses, such as"
                    + " http://127.0.0.1:8082; use https, or a tunnel (ssh -L 8082:127.0.0.1:8082 HOST)")
        }
        var base = url.text[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        for page in [RemoteAddress.root, "/console"] where base.hasSuffix(page) { base = base.dropLast(page.count) }
        self.base = String(base)
        origin = url.origin
        isPlain = url.scheme == .http
    }

    private static func isLoopback(_ url: OutgoingURL) -> Bool {
        guard let address = url.literalAddress else { return url.host == "localhost" }
        return loopback.contains { $0.contains(address.unmapped) }
    }

    static let loopback = ["127.0.0.0/8", "::1/128"].compactMap { Network(parsing: $0) }
    static let everywhere = ["0.0.0.0/0", "::/0"].compactMap { Network(parsing: $0) }

    /// - Parameters:
    ///   - path: segments below `/operator/v1`, as they are.
    ///   - query: parameters; those without a value are left out.
    func url(_ path: [String], _ query: [(name: String, value: String?)]) -> String {
        "\(base)\(RemoteAddress.root)\(RemoteAddress.path(path))"
            + (query.contains { $0.value != nil } ? "?\(RemoteAddress.query(query))" : "")
    }

    static func path(_ segments: [String]) -> String {
        segments.map { "/\(PercentEncoding.encode($0))" }.joined()
    }

    static func query(_ parameters: [(name: String, value: String?)]) -> String {
        parameters.compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encode($0))" } }
            .joined(separator: "&")
    }
}

/// A key of an operator, which nothing shows.
struct RemoteKey: Sendable {
    let text: Redacted<String>
    /// Where it came from, for messages.
    let source: String

    /// - Parameters:
    ///   - file: that an option names.
    ///   - variables: of the environment: a file, and the key itself.
    init(file: String?, variables: (file: String?, key: String?)) throws(UsageError) {
        let text: String
        if let file {
            text = try SecretFile.line(file, of: RemoteOptions.keyFile.name)
            source = "the key of \(Terminal.harmless(file))"
        } else if let file = variables.file {
            guard variables.key == nil else {
                throw UsageError("ENTITLED_KEY_FILE and ENTITLED_KEY cannot be combined")
            }
            text = try SecretFile.line(file, of: "ENTITLED_KEY_FILE")
            source = "the key of \(Terminal.harmless(file))"
        } else if let key = variables.key {
            text = key
            source = "the key in ENTITLED_KEY"
        } else {
            throw UsageError(
                "the operator API needs a key: give its file by --key-file or ENTITLED_KEY_FILE;"
                    + " `entitled users key NAME` on the host makes one")
        }
        guard text.hasPrefix(OperatorKeyTable.prefix), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw UsageError("\(source) is not a key of the operator API, which begins with \(OperatorKeyTable.prefix)")
        }
        self.text = Redacted(text)
    }
}
