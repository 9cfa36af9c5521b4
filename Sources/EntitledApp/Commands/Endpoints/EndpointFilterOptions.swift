import Base
import CLI

/// The options of `endpoints add` and `endpoints update` that say which events an endpoint gets.
struct EndpointFilterOptions: ParsableArguments {
    /// Empty: all.
    @Option("--environment", .environment, "Select this environment.")
    var environments: [StoreEnvironment]
    /// Types of events, or of notifications; empty: all.
    @Option("--event", .text("TYPE"), "Select this event type, such as RENEWAL.")
    var events: [String]
    /// Types that it does not get; empty where `events` is not.
    @Option("--except", .text("TYPE"), "Exclude this event type.")
    var exceptedEvents: [String]
    /// Ids of configured apps; empty: all.
    @Option(
        "--app", .text("ID"), "Select this app; $promotional selects grants, which belong to no app.")
    var apps: [String]
}
