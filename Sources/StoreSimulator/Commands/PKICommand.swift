import Base
import CLI

/// `storesim pki`: makes a store's certificates.
struct PKICommand: Command {
    static let declaration = CommandDeclaration(
        "pki", "Make a root, an intermediate and a leaf certificate with Apple's marker extensions.",
        options: [
            OptionDeclaration(
                "--out", .text("DIR"), isRequired: true,
                "Folder for root.pem, intermediate.pem, leaf.pem, chain.pem and leaf.key."),
            OptionDeclaration("--name", .text("NAME"), "Beginning of the certificates' names; default: Storesim."),
            OptionDeclaration("--force", "Replace the files that are there."),
            OptionDeclaration("--json", "Print one JSON object."),
        ],
        examples: ["pki --out pki"])

    private let folder: PKIFolder
    private let options: StorePKI.Options
    private let force: Bool
    private let json: Bool

    init(_ parsed: ParsedArguments) throws(UsageError) {
        let arguments = CommandArguments(parsed, of: "pki")
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
            terminal.print(
                JSON.object([
                    "root_sha256": .string(pki.rootFingerprint), "root_file": .string(folder.rootPath),
                    "dir": .string(folder.path),
                ]).text)
            return 0
        }
        terminal.print(
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
