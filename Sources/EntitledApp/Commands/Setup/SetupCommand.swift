import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled setup`.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "setup", "Create what a new installation needs in Postgres and in secrets_dir; repair what is missing.",
        discussion: """
            Creates the owner, the database, the schema, a login for each process, and the key that seals the secrets of \
            endpoints; writes a URL for each role and the key into secrets_dir, for root alone. What is there and works \
            stays, so that it can be repeated, and continues where it was interrupted. Passwords that were changed \
            elsewhere, and logins that were withdrawn (NOLOGIN), stay as they are. As root it administers the Postgres \
            of this host; --superuser-url-file names another. Where database.url is set and its user may create roles, \
            no administrator is needed.
            """,
        examples: ["setup", "setup --dry-run", "setup --superuser-url-file /root/admin_url --yes"])

    @Option(
        "--superuser-url-file", .file,
        "File with the URL of a Postgres user who may create roles and databases. Default: the Postgres of this host, as its user postgres."
    ) private var superuserFile: String?
    @Option(
        "--database", .text("NAME"), "Name of the database to create. Default: that of database.url, else entitled.")
    private var database: String?
    @Option("--owner", .text("NAME"), "Role to create as the owner. Default: that of database.url, else entitled.")
    private var owner: String?
    @Flag(
        "--new-passwords",
        "Set new passwords for roles that can log in already, but whose password this host lacks or has wrong; the"
            + " files of other hosts stop working then."
    ) private var renews: Bool
    @Flag("--dry-run", "Show what would be created; change nothing.") private var isDry: Bool
    @OptionGroup private var confirmation: Confirmation

    func validate() throws {
        for (option, name) in [("--database", database), ("--owner", owner)] {
            guard let name else { continue }
            let isPlain = name.wholeMatch(of: /[a-z_][a-z0-9_]{0,62}/) != nil
            guard isPlain else {
                throw UsageError("\(option): a name has lower-case letters, digits and underscores, at most 63")
            }
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        // Standard input is read once.
        let administrator = try superuserFile.map { Redacted(try SecretFile.line($0, of: "--superuser-url-file")) }
        let setup = try setup(context, administrator)
        let files = setup.files
        let plan = try setup.plan()
        guard !isDry, !plan.steps.isEmpty else {
            if !isDry, files.hasFolder { try files.exclusively {} }
            report(plan, setup, isDone: false, context)
            try refuse(plan, setup)
            return 0
        }
        try confirmation.ask("Do this?", context) { plan.steps.map { "- " + $0.text(setup.names) } }
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        try setup.make(plan, anew: { try self.setup(context, administrator) }) { step, part in
            bar.show(part, step.text(setup.names))
        }
        bar.clear()
        report(plan, setup, isDone: true, context)
        try refuse(plan, setup)
        return 0
    }

    /// Of the configuration as it is now.
    private func setup(_ context: CommandContext, _ administrator: Redacted<String>?) throws -> Setup {
        let configuration = try context.configuration()
        guard let folder = configuration.secretsDirectory else {
            throw CommandFailure(
                "secrets_dir is not set: name a folder for the URLs and keys, such as \"/etc/entitled/secrets\", in the"
                    + " configuration")
        }
        return Setup(
            configuration: configuration, files: SecretFiles(folder: folder), administratorURL: administrator,
            names: try SetupNames(owner: owner, database: database, standing: configuration.database.url),
            renews: renews)
    }

    private func refuse(_ plan: SetupPlan, _ setup: Setup) throws {
        if let lost = plan.lostKey { throw setup.lostKey(lost) }
    }

    private func report(_ plan: SetupPlan, _ setup: Setup, isDone: Bool, _ context: CommandContext) {
        let files = plan.steps.compactMap(\.key).map { setup.files.path(of: $0) }
        if context.json {
            context.terminal.document(
                .object([
                    "done": .strings(isDone ? plan.steps.map(\.word) : []),
                    "planned": .strings(isDone ? [] : plan.steps.map(\.word)), "kept": .strings(plan.kept),
                    "files": .strings(isDone ? files : []),
                ]))
            return
        }
        for key in plan.kept { context.terminal.print("kept: \(key)") }
        guard !plan.steps.isEmpty else {
            if plan.lostKey == nil { context.terminal.print("nothing to do") }
            return
        }
        for step in plan.steps { context.terminal.print("\(isDone ? "done" : "to do"): \(step.text(setup.names))") }
        guard isDone else { return }
        for file in files { context.terminal.print("written: \(file)") }
        guard plan.lostKey == nil else { return }
        context.terminal.print(
            """
            Back up \(setup.files.folder). Then start the processes and look at them:
              systemctl enable --now entitled-ingest entitled-worker entitled-api entitled-console
              entitled doctor
            """)
    }
}
