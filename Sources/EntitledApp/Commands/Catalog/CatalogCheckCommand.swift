import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled catalog check`.
struct CatalogCheckCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "check", "Compare entitlements, offerings and purchased products.",
        discussion:
            "Errors (exit status 1): products that were bought or are offered but belong to no entitlement, packages"
            + " that RevenueCat's SDKs do not know. Warnings: products that are offered but were never bought,"
            + " entitlements"
            + " that no offered product gives.",
        examples: ["catalog check", "catalog check --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let bought = try ProductTable.list(on: connection).map {
            CatalogueCheck.Bought(productID: $0.product.productID, kind: $0.product.kind)
        }
        let findings = CatalogueCheck(
            entitlements: configuration.catalogue, offerings: configuration.offerings,
            durations: Set(configuration.productDurations.keys)
        ).findings(bought)
        let errors = findings.filter { $0.severity == .error }.count
        if context.json {
            context.terminal.document(
                .object([
                    "ok": .bool(errors == 0),
                    "findings": .array(
                        findings.map {
                            .object([
                                "severity": .string($0.severity.rawValue), "code": .string($0.code),
                                "subject": .string($0.subject), "message": .string($0.message),
                            ])
                        }),
                ]))
        } else {
            for finding in findings {
                context.terminal.paragraph("\(finding.severity.rawValue): \(Terminal.harmless(finding.message))")
            }
            let products = count(Set(bought.map(\.productID)).count, "product")
            let entitlements = count(configuration.entitlements.count, "entitlement")
            let offerings = count(configuration.offerings.offerings.count, "offering")
            let warnings = count(findings.count - errors, "warning")
            context.terminal.print(
                "\(products) bought, \(entitlements), \(offerings): \(count(errors, "error")), \(warnings)")
        }
        return errors == 0 ? ExitStatus.done : ExitStatus.failed
    }

    private func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
}
