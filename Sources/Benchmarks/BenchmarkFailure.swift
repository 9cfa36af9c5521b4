/// Why a benchmark gave no figures, in one line.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Wrong use of the command line, in one line: exit status 2.
struct BenchmarkUsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
