import CLI

/// What the commands of `entitled catalog` take.
package enum CatalogOptions {
    package static let check = CommandDeclaration(
        "check", "Compare entitlements, offerings and purchased products.",
        discussion:
            "Errors, which end it with 1: products that were bought or are offered and give nothing, packages that no app"
            + " knows. Warnings: products that are offered and were never bought, entitlements that nothing offered gives.",
        examples: ["catalog check", "catalog check --json"])
}
