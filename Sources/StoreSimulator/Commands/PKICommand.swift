import Base

/// `storesim pki`: makes a store's certificates.
struct PKICommand: StoresimCommand {
    static var syntax: CommandSyntax {
        CommandSyntax(
            name: "pki", summary: "Makes a root, an intermediate and a leaf with Apple's marker extensions.",
            options: [
                .init(
                    name: "--out", value: "DIR",
                    help: "where root.pem, intermediate.pem, leaf.pem, chain.pem and leaf.key go"),
                .init(name: "--name", value: "NAME", help: "how the certificates' names begin (Storesim)"),
                .init(name: "--force", value: nil, help: "replace what is there"),
                .init(name: "--json", value: nil, help: "print one JSON object"),
            ])
    }

    private let folder: PKIFolder
    private let options: StorePKI.Options
    private let force: Bool
    private let json: Bool

    init(_ arguments: CommandArguments) throws(UsageError) {
        folder = PKIFolder(try arguments.required("--out"))
        var options = StorePKI.Options()
        // 64 characters are the limit of a common name (RFC 5280 A.1), and the longest suffix takes 16.
        options.name = try arguments.value("--name", "a name of 1 to 40 characters", default: options.name) {
            $0.isEmpty || $0.count > 40 ? nil : $0
        }
        self.options = options
        force = arguments.isSet("--force")
        json = arguments.isSet("--json")
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        let pki = try StorePKI.generate(options, now: SystemClock().now())
        try folder.write(pki, force: force)
        if json {
            terminal.line(
                JSON.object([
                    "root_sha256": .string(pki.rootFingerprint), "root_file": .string(folder.rootPath),
                    "dir": .string(folder.path),
                ]).text)
            return 0
        }
        terminal.line(
            """
            Certificates are in \(folder.path). The root's SHA-256:
              \(pki.rootFingerprint)

            To trust it, put one of these into the configuration, and never in production:
              trust: { root_sha256: ["\(pki.rootFingerprint)"] },
              trust: { root_files: ["\(folder.rootPath)"] },
            """)
        return 0
    }
}
