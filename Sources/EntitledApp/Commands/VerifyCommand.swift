import AppStore
import Base
import CLI
import Crypto
import Daemon
import FoundationEssentials

/// `entitled verify`: an offline check of anything Apple signs. It needs no database, and reads a configuration only for
/// its roots, where `--config` names one.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "verify", "Verify and decode data signed by Apple, offline.",
        discussion:
            "Reads one JWS, raw or as {\"signedPayload\":\"…\"}. Exits with 0 if it is genuine and matches the options,"
            + " else with 1 and the reason. By default: Apple's root, any bundle, Sandbox or Production. With --config:"
            + " the roots of that configuration.",
        examples: [
            "verify notification.jws", "verify - --json < body.json",
            "verify transaction.jws --kind transaction --bundle-id com.example.app --environment Production",
            "verify test.jws --root storesim-root.pem",
        ])

    enum Kind: String, InputValue, CaseIterable {
        case notification, transaction, renewal
        case appTransaction = "app-transaction"
        case auto
    }

    @Argument(.file, "File with the JWS; - or none: standard input.") private var path: String?
    /// Paths; empty: Apple's root.
    @Option("--root", .file, "Trust this root certificate (PEM or DER) instead of Apple's.") var rootFiles: [String]
    @Option("--bundle-id", .text("ID"), "Require this bundle id.") var bundleID: String?
    @Option("--apple-app-id", .integer(1...Int64.max, "N"), "Require this Apple ID of the app, in production.")
    var appleAppID: Int64?
    @Option("--environment", .environment, "Require this environment.") var environment: StoreEnvironment?
    @Option("--kind", .choice(of: Kind.self, "KIND"), "Require this kind of data; auto accepts any.") var kind: Kind =
        .auto
    /// Milliseconds since 1970; nil: the date of signing.
    @Option("--at", .time, "Check the certificates at this time instead of the time of signing.")
    var at: Int64?

    /// Nil: standard input.
    var file: String? { path == "-" ? nil : path }

    func run(_ context: CommandContext) throws -> Int32 {
        let input = try read(context)
        let inspector = SignedDataInspector(verifier: SignedDataVerifier(trust: try anchors(context)))
        let environments = environment.map { [$0] } ?? StoreEnvironment.allCases
        let identity = Identity(
            bundleID: bundleID, appleAppID: appleAppID, environments: Set(environments))
        let result = inspector.inspect(
            RequestBody.jws(inFile: input), as: kind.signedDataKind, for: identity, at: at)
        switch result {
        case .success(let data):
            context.json ? context.terminal.document(document(data)) : show(data, context.terminal)
            return 0
        case .failure(let failure):
            if context.json {
                context.terminal.document(
                    .object([
                        "valid": .bool(false), "reason": .string(failure.reason.rawValue),
                        "detail": .string(failure.detail),
                    ]))
            } else {
                context.terminal.complain("not valid: \(failure.reason.rawValue): \(failure.detail)")
            }
            return ExitStatus.failed
        }
    }

    private func read(_ context: CommandContext) throws -> [UInt8] {
        let reading =
            file.map { context.surroundings.readFile(context.surroundings.resolve($0)) }
            ?? context.standardInput()
        return try contents(reading, file ?? "standard input")
    }

    private func contents(_ reading: FileReading, _ name: String) throws -> [UInt8] {
        guard case .contents(let bytes) = reading else {
            throw CommandFailure("cannot read \(name): \(reading.failure ?? "")")
        }
        return bytes
    }

    private func anchors(_ context: CommandContext) throws -> TrustAnchors {
        guard !rootFiles.isEmpty else {
            return context.configurationFile == nil ? .apple : try context.configuration().trustAnchors()
        }
        let certificates = try rootFiles.flatMap { path in
            let bytes = try contents(context.surroundings.readFile(context.surroundings.resolve(path)), path)
            let found = Crypto.CertificateFile.certificates(in: bytes) ?? []
            guard !found.isEmpty else { throw CommandFailure("\(path) is not a certificate in PEM or DER") }
            return found
        }
        return TrustAnchors(certificates: certificates)
    }

    // MARK: - Output

    private func document(_ data: InspectedData) -> JSON {
        .object([
            "valid": .bool(true), "kind": .string(data.kind.optionName), "payload": .raw(data.outer.payload),
            "transaction": data.nested.transaction.map { .raw($0.jws.payload) },
            "renewal": data.nested.renewal.map { .raw($0.jws.payload) },
            "app_transaction": data.nested.appTransaction.map { .raw($0.jws.payload) },
            "certificates": .array(data.outer.certificates.map(\.document)),
        ])
    }

    private func show(_ data: InspectedData, _ terminal: Terminal) {
        let certificates = data.outer.certificates.map { "  \(Terminal.harmless($0.subject))" }
        terminal.print("valid \(data.kind.optionName), signed by\n\(certificates.joined(separator: "\n"))")
        show("payload", data.outer.payload, terminal)
        if let part = data.nested.transaction { show("transaction", part.jws.payload, terminal) }
        if let part = data.nested.renewal { show("renewal", part.jws.payload, terminal) }
        if let part = data.nested.appTransaction { show("app transaction", part.jws.payload, terminal) }
    }

    private func show(_ name: String, _ payload: [UInt8], _ terminal: Terminal) {
        let text = (try? JSON(parsing: payload).indentedText) ?? String(decoding: payload, as: UTF8.self)
        terminal.print("\n\(name)\n\(text)")
    }
}

extension VerifyCommand.Kind {
    /// Nil where the payload tells.
    fileprivate var signedDataKind: SignedDataKind? {
        switch self {
        case .notification: .notification
        case .transaction: .transaction
        case .renewal: .renewal
        case .appTransaction: .appTransaction
        case .auto: nil
        }
    }
}

extension SignedDataKind {
    fileprivate var optionName: String {
        switch self {
        case .notification: "notification"
        case .transaction: "transaction"
        case .renewal: "renewal"
        case .appTransaction: "app-transaction"
        }
    }
}

extension CertificateSummary {
    fileprivate var document: JSON {
        .object([
            "subject": .string(subject), "sha256": .string(sha256), "not_before": .date(notBefore),
            "not_after": .date(notAfter),
        ])
    }
}
