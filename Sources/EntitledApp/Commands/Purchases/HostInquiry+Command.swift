import AppStore
import Base
import CLI
import Daemon
import Database
import Duties
import Ingest
import Postgres

extension HostInquiry {
    /// Asks Apple with the keys of these apps, and stores what it signed.
    ///
    /// - Throws: `CommandFailure` where none has a key.
    static func ask(
        _ apps: [Configuration.App], _ configuration: Configuration, _ context: CommandContext,
        on connection: PostgresConnection,
        _ body: (inout HostInquiry, PostgresConnection) throws -> ChangeEnding
    ) throws -> ChangeEnding {
        let able = apps.filter { $0.serverAPI != nil }
        guard !able.isEmpty else {
            let names = apps.map(\.id).joined(separator: ", ")
            throw CommandFailure("no server_api in the configuration of \(names), so Apple cannot be asked")
        }
        let terminal = context.terminal
        let logger = Logger(minimum: .warning) { terminal.printError(String(decoding: $0, as: UTF8.self)) }
        let verifier = SignedDataVerifier(trust: try configuration.trustAnchors())
        var accesses: [String: ServerAPIAccess] = [:]
        defer { for access in accesses.values { access.close() } }
        for app in able {
            accesses[app.id] = try ServerAPIAccess(
                app, verifier: verifier, readFile: context.surroundings.readFile, logger: logger, metrics: Metrics())
        }
        let admission = TransactionAdmission(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        var inquiry = HostInquiry(
            lookups: accesses.mapValues {
                AccountLookup(
                    client: $0.client, admission: admission, mostTransactions: InquiryDuty.mostTransactions)
            })
        return try body(&inquiry, connection)
    }

    /// Shows what came of it.
    ///
    /// - Returns: the exit status.
    static func tell(_ ending: ChangeEnding, _ context: CommandContext) throws -> Int32 {
        switch ending {
        case .done(let outcome):
            if context.json {
                context.terminal.document(outcome)
                return ExitStatus.done
            }
            context.terminal.paragraph(Terminal.harmless(outcome.cell("answer")))
            for purchase in outcome["purchases"]?.arrayValue ?? [] {
                let (id, app) = (purchase.cell("original_transaction_id"), purchase.cell("app"))
                context.terminal.print(
                    "entitled purchases show \(id) --app \(app) --environment \(purchase.cell("environment"))")
            }
            return ExitStatus.done
        case .refused(let why), .failed(let why): throw CommandFailure(why)
        }
    }
}
