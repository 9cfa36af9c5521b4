import CLI

/// The commands that run until they are told to end, and the one that prepares the database.
package enum ProcessDeclarations {
    private static let ending =
        "Runs until SIGTERM or SIGINT; a second one ends it at once. Log lines are JSON on standard error."

    package static let run = CommandDeclaration(
        "run", "Run ingest, worker and api in one process.",
        discussion: "For small installations and for trying it out. Without database.url a private Postgres cluster is"
            + " started in state_dir. " + ending,
        examples: ["run", "run --config /etc/entitled/entitled.json5"])

    package static let ingest = CommandDeclaration(
        "ingest", "Run the endpoint for Apple: verify and store notifications.", discussion: ending,
        examples: ["ingest --config /etc/entitled/entitled.json5"])

    package static let worker = CommandDeclaration(
        "worker", "Run a worker: apply notifications and send webhooks.",
        discussion: "Any number may run, on any hosts. " + ending,
        examples: ["worker --config /etc/entitled/entitled.json5"])

    package static let api = CommandDeclaration(
        "api", "Run the REST listener for apps and backends.", discussion: ending,
        options: [
            OptionDeclaration("--routes", "Runs nothing; lists what the listener answers, and with which key.")
        ],
        examples: ["api --config /etc/entitled/entitled.json5", "api --routes"])

    package static let migrate = CommandDeclaration(
        "migrate", "Create or upgrade the schema, roles and privileges in Postgres.",
        discussion: "Connects with database.url, as the owner. May be run again at any time, beside running processes:"
            + " locks are held up for half a second at most, released, and tried again. Interrupted, it leaves a whole"
            + " version, and the next one goes on.",
        options: [
            OptionDeclaration("--status", "Change nothing; show the schema, what is missing and what is being done."),
            OptionDeclaration(
                "--dry-run", "Change nothing; show what would run, which tables it locks and how many rows they have."),
            OptionDeclaration(
                "--wait", .duration(Duration.zero...Duration.seconds(86_400)),
                "How long locks that others hold are tried for. Default: 60s."),
        ],
        examples: [
            "migrate --config /etc/entitled/entitled.json5", "migrate --status", "migrate --dry-run",
            "migrate --wait 10m",
        ])
}
