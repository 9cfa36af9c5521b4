import Base
import CLI

/// The options of `endpoints add` and `endpoints update` that say which events an endpoint gets.
struct EndpointFilterOptions: ParsableArguments {
    /// Empty: all.
    @Option("--environment", .environment, "Only what is of this environment.")
    var environments: [StoreEnvironment]
    /// Types of events, or of notifications; empty: all.
    @Option("--event", .text("TYPE"), "Only what is of this type, such as RENEWAL.")
    var events: [String]
    /// Types that it does not get; empty where `events` is not.
    @Option("--except", .text("TYPE"), "Nothing that is of this type.")
    var exceptedEvents: [String]
    /// Ids of configured apps; empty: all.
    @Option(
        "--app", .text("ID"), "Only what is of this app; $promotional: what was granted, which is of no other.")
    var apps: [String]
}
