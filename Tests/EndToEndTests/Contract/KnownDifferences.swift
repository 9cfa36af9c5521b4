/// What schemathesis finds and is right as it is, by operation and its title, with the reason. What is not here is a fault.
enum KnownDifferences {
    /// In our own contract: what no schema can say.
    static let ours: [String: String] = [:]

    /// In RevenueCat's document of its API v1.
    static let theirs: [String: String] = [:]
}
