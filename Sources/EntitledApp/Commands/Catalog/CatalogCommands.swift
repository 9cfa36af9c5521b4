import Base
import CLI
import Database
import Schemas
import Subscriptions

/// `entitled catalog …`: what is sold, and what it gives.
enum CatalogCommands {
    struct Check: Command {
        static let declaration = CatalogOptions.check

        init(_ parsed: ParsedArguments) {}

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
                    context.terminal.print("\(finding.severity.rawValue): \(Terminal.harmless(finding.message))")
                }
                let products = count(Set(bought.map(\.productID)).count, "product")
                let entitlements = count(configuration.entitlements.count, "entitlement")
                let offerings = count(configuration.offerings.offerings.count, "offering")
                let warnings = count(findings.count - errors, "warning")
                context.terminal.print(
                    "\(products) bought, \(entitlements), \(offerings): \(count(errors, "error")), \(warnings)")
            }
            return errors == 0 ? 0 : 1
        }

        private func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
    }
}
