import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled catalog check`.
struct CatalogCheckCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "check", "Compare entitlements, offerings and purchased products.",
        discussion:
            "Errors (exit status 1): products that were bought or are offered but belong to no entitlement, packages"
            + " that RevenueCat's SDKs do not know. Warnings: products that are offered but were never bought,"
            + " entitlements"
            + " that no offered product gives.",
        examples: ["catalog check", "catalog check --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try tell(try remote.json(["catalog", "check"]), context) }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let bought = try ProductTable.list(on: connection).map {
            CatalogueCheck.Bought(productID: $0.product.productID, kind: $0.product.kind)
        }
        let findings = CatalogueCheck(
            entitlements: configuration.catalogue, offerings: configuration.offerings,
            durations: Set(configuration.productDurations.keys)
        ).findings(bought)
        return try tell(
            CatalogueAnswer(findings: findings).json, context,
            [
                "\(count(Set(bought.map(\.productID)).count, "product")) bought",
                count(configuration.entitlements.count, "entitlement"),
                count(configuration.offerings.offerings.count, "offering"),
            ])
    }

    /// - Parameter compared: what was looked at, where that is known.
    private func tell(_ answer: JSON, _ context: CommandContext, _ compared: [String] = []) throws -> Int32 {
        guard let findings = answer["findings"]?.arrayValue, let isRight = answer["ok"]?.boolValue else {
            throw CommandFailure("the answer is not one about the catalogue")
        }
        if context.json {
            context.terminal.document(answer)
        } else {
            for finding in findings {
                context.terminal.paragraph(
                    "\(finding.cell("severity")): \(Terminal.harmless(finding.cell("message")))")
            }
            let errors = findings.filter { $0.cell("severity") == "error" }.count
            let totals = "\(count(errors, "error")), \(count(findings.count - errors, "warning"))"
            context.terminal.print((compared.isEmpty ? "" : compared.joined(separator: ", ") + ": ") + totals)
        }
        return isRight ? ExitStatus.done : ExitStatus.failed
    }

    private func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
}
