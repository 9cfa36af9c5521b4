import CLI

/// How many rows a list shows.
enum ListLimit {
    static let standard = 50

    static let option = OptionDeclaration(
        "--limit", .integer(1...100_000, "N"), "Maximum number of rows; default: \(standard).")
}
