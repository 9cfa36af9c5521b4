import CLI

/// What `entitled rebuild` takes.
package struct RebuildOptions: Sendable, Equatable {
    package let isDry: Bool

    package init(_ parsed: ParsedArguments) {
        isDry = parsed.has("--dry-run")
    }

    package static let declaration = CommandDeclaration(
        "rebuild", "Recompute all records from the log.",
        discussion:
            "Records follow from the facts and actions of the log alone; this writes those that do not. It sends no"
            + " events, runs beside the workers, and goes on where it was stopped. Each difference is printed.",
        options: [
            OptionDeclaration("--dry-run", "Compare only; exit status 1 if a record differs.")
        ],
        examples: ["rebuild --dry-run", "rebuild"])
}
