import Base
import CLI
import Daemon
import Database
import Postgres
import Schemas

/// `entitled backup`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "backup", "Copy the private Postgres and the sealing key of state_dir into a folder.",
        discussion:
            "For installations without database.url. `entitled run` may work meanwhile; where it does not run, its Postgres is"
            + " started for as long as the copy takes. The folder then holds every record and the key that opens endpoints'"
            + " secrets: keep it as secret as state_dir. The configuration and the files that it names are not part of it."
            + " `entitled restore` rejects a backup that was cut off.",
        examples: ["backup /var/backups/entitled-2026-11-25", "backup /var/backups/today --json"])

    @Argument(.text("DIR"), "Folder to create; it must not exist, or must be empty.") private var folder: String

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        guard configuration.database.isPrivateCluster else { throw BackupCommand.notPrivate }
        let begun = ContinuousClock.now
        let cluster = try startIfNeeded(configuration)
        // One that does not stop harms no backup: the next `entitled run` adopts it.
        defer { try? cluster?.stop() }
        let connection = try PostgresConnection(try DatabaseAccess(configuration).ownerTarget())
        guard let schema = try SchemaVersion.find(on: connection) else { throw DatabaseRole.Rejection.notMigrated }
        let former = try SealingKeyRegister.inUse(on: connection)
        let backup = try copy(configuration, context)
        // The first key may have been made meanwhile.
        let fingerprint = try SealingKeyRegister.inUse(on: connection)
        guard former == nil || former == fingerprint else {
            throw CommandFailure("the sealing key was changed meanwhile: remove \(folder), and make another backup")
        }
        let key = try key(fingerprint, configuration)
        if key == .file {
            try SealingKeys.copy(from: SealingKeys.path(configuration), to: SealingKeys.path(in: backup.folder))
        }
        let manifest = BackupManifest(
            madeAt: SystemClock().now(), postgres: backup.version ?? 0, schema: schema, key: key,
            fingerprint: fingerprint)
        try manifest.write(in: backup.folder)
        tell(manifest, backup, ContinuousClock.now - begun, configuration, context)
        return 0
    }

    static let notPrivate = CommandFailure(
        "there is no private Postgres, because the configuration names a database: back up and restore that one by"
            + " pg_basebackup or pg_dump, and the sealing key with it (Operating.md, \"Backup\")")

    static func noCluster(_ state: String) -> CommandFailure {
        CommandFailure("there is no private Postgres in \(state): is state_dir the one of `entitled run`?")
    }

    /// A cluster that does not run is started for as long as the copy takes.
    private func startIfNeeded(_ configuration: Configuration) throws -> PrivateCluster? {
        let state = configuration.stateDirectory
        guard PrivateCluster.runningURL(stateDirectory: state) == nil else { return nil }
        guard PrivateCluster.exists(stateDirectory: state) else { throw BackupCommand.noCluster(state) }
        let cluster = try PrivateCluster(stateDirectory: state)
        try cluster.start()
        return cluster
    }

    private func key(_ fingerprint: String?, _ configuration: Configuration) throws -> BackupManifest.Key {
        guard let fingerprint else { return .none }
        guard let sealer = try SealingKeys.existing(configuration), sealer.fingerprints.contains(fingerprint) else {
            return .missing
        }
        return configuration.webhooks.secretKeys.isEmpty ? .file : .configuration
    }

    private func copy(_ configuration: Configuration, _ context: CommandContext) throws -> ClusterBackup {
        let state = configuration.stateDirectory
        let progress = CopyProgress(context.terminal, of: PrivateCluster.bytes(stateDirectory: state)) { [folder] in
            ClusterBackup(folder: folder).bytes
        }
        defer { progress.end() }
        let backup = try ClusterBackup.make(of: state, in: folder)
        try backup.verify()
        return backup
    }

    private func tell(
        _ manifest: BackupManifest, _ backup: ClusterBackup, _ time: Duration, _ configuration: Configuration,
        _ context: CommandContext
    ) {
        let bytes = backup.bytes
        if manifest.key == .missing {
            context.terminal.complain(
                "warning: the key \(manifest.fingerprint ?? ""), which seals the webhook secrets, is not on this host and not"
                    + " in the backup: \(SealingKeys.remedy(configuration))")
        }
        if context.json {
            guard case .object(var members) = manifest.document else { return }
            members.append(JSON.Member(name: "folder", value: .string(backup.folder)))
            members.append(JSON.Member(name: "bytes", value: .int(bytes)))
            members.append(JSON.Member(name: "duration_ms", value: .int(time.milliseconds)))
            context.terminal.document(.object(members))
            return
        }
        context.terminal.print(
            "\(backup.folder): schema \(manifest.schema.version) of Postgres \(manifest.postgres), "
                + "\(bytes / 1_000_000) MB, every file checked")
        switch manifest.key {
        case .file: context.terminal.print("It has the sealing key, too: keep it secret.")
        case .configuration:
            context.terminal.print("It does not have webhooks.secret_keys: back up the configuration, too.")
        case .missing, .none: break
        }
    }
}
