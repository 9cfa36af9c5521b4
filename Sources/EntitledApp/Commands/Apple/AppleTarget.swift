import Base
import CLI

/// The app that Apple is asked about, and where.
struct AppleTarget: ParsableArguments {
    @Option("--app", .text("ID"), "Query as this app; required if several apps have a Server API key.")
    var app: String?
    @Option(
        "--environment", .environment,
        "Query only this environment; default: Production, then Sandbox for look-ups.")
    var environment: StoreEnvironment?
}
