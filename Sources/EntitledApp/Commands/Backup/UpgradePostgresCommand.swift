import Base
import CLI
import Postgres

/// `entitled upgrade-postgres`.
struct UpgradePostgresCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "upgrade-postgres", "Upgrade the private Postgres to the newest installed major version.",
        discussion:
            "`entitled run` works with the version that made its data, as long as that is installed. Stop `entitled run`, make a"
            + " backup, install the newer version beside the present one (apt-get install postgresql-17), and run this as the"
            + " user that `entitled run` runs as. pg_upgrade copies the data, so it takes as much room again; a failure"
            + " leaves the former data in place. The former data then stay in state_dir/postgres/data.N, where N is"
            + " their version, until you remove them.",
        examples: ["upgrade-postgres", "upgrade-postgres --yes --json"])

    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        guard configuration.database.isPrivateCluster else { throw BackupCommand.notPrivate }
        let state = configuration.stateDirectory
        guard PrivateCluster.exists(stateDirectory: state) else { throw BackupCommand.noCluster(state) }
        let cluster = try PrivateCluster(stateDirectory: state)
        let (version, newest) = (cluster.version ?? 0, try PrivateCluster.newestInstalled())
        if newest > version {
            try confirmation.ask("Upgrade the private Postgres in \(state) from \(version) to \(newest)?", context)
        }
        let upgrade = try cluster.upgrade()
        if context.json {
            context.terminal.document(
                .object([
                    "from": .int(Int64(version)), "to": .int(Int64(upgrade?.to ?? version)),
                    "former": upgrade.map { .string($0.former) } ?? .null,
                ]))
        } else if let upgrade {
            context.terminal.print(
                "The private Postgres is of version \(upgrade.to): start `entitled run`. \(upgrade.former) has the former data:"
                    + " remove them when all is well.")
        } else {
            context.terminal.print(
                "The private Postgres is of version \(version), and no newer one is installed: nothing to do.")
        }
        return 0
    }
}
