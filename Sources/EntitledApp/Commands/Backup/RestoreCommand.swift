import Base
import CLI
import Daemon
import Database
import Duties
import Postgres
import Schemas

/// `entitled restore`.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "restore", "Restore the private Postgres and the sealing key of state_dir from a backup.",
        discussion:
            "Checks every file of a folder that `entitled backup` made, and puts it into a state_dir that has no private"
            + " Postgres yet; a backup that is rejected changes nothing. Run it as the user that `entitled run` runs"
            + " as, and start that"
            + " afterwards: it upgrades the schema if need be.",
        examples: ["restore /var/backups/entitled-2026-11-25", "restore /var/backups/today --yes --json"])

    @Argument(.text("DIR"), "Folder that `entitled backup` created.") private var folder: String
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        guard configuration.database.isPrivateCluster else { throw BackupCommand.notPrivate }
        let state = configuration.stateDirectory
        try checkTarget(state)
        let backup = ClusterBackup(folder: folder)
        let manifest = try BackupManifest(in: backup.folder)
        try check(manifest, backup)
        let key = try keyToCopy(manifest, backup, configuration)
        try backup.verify()
        let question = "Restore the backup of \(context.terminal.time(manifest.madeAt)) into \(state)?"
        try confirmation.ask(question, context)
        let cluster = try PrivateCluster(stateDirectory: state)
        try copy(backup, into: cluster, context) {
            if let key { try SealingKeys.copy(from: key, to: SealingKeys.path(configuration)) }
            // A killed restore may leave this behind, which costs a scan.
            SightingFile.noteRestored(in: state, logger: .silent)
        }
        try tell(manifest, backup, configuration, context)
        return 0
    }

    private func checkTarget(_ state: String) throws {
        guard PrivateCluster.exists(stateDirectory: state) else { return }
        let running = PrivateCluster.runningURL(stateDirectory: state) == nil ? "" : ", which runs"
        throw CommandFailure(
            "\(state) has a private Postgres already\(running): set another state_dir, or stop `entitled run` and move"
                + " \(state)/postgres away")
    }

    private func check(_ manifest: BackupManifest, _ backup: ClusterBackup) throws {
        guard let version = backup.version, version == manifest.postgres else {
            throw CommandFailure(
                "\(folder) is damaged: backup.json names Postgres \(manifest.postgres), but its data are of"
                    + " \(backup.version.map { "Postgres \($0)" } ?? "none")")
        }
        try backup.checkPrograms()
        // An older one is migrated by the first start.
        if SchemaVersion.fit(manifest.schema) == .tooNew {
            throw DatabaseRole.Rejection.newer(found: manifest.schema.version)
        }
    }

    /// The key's file in the backup; nil where the backup has none, or this host has it already.
    private func keyToCopy(
        _ manifest: BackupManifest, _ backup: ClusterBackup, _ configuration: Configuration
    ) throws -> String? {
        guard manifest.key == .file, let fingerprint = manifest.fingerprint else { return nil }
        let path = SealingKeys.path(in: backup.folder)
        guard try SealingKeys.at(path)?.fingerprint == fingerprint else {
            throw CommandFailure("\(folder) is not a complete backup: it lacks the key \(fingerprint), \(path)")
        }
        let target = SealingKeys.path(configuration)
        guard let here = try SealingKeys.at(target) else { return path }
        guard here.fingerprint == fingerprint else {
            throw CommandFailure("\(target) is not the key \(fingerprint) of the backup: move it away")
        }
        return nil
    }

    private func copy(
        _ backup: ClusterBackup, into cluster: PrivateCluster, _ context: CommandContext, prepare: () throws -> Void
    ) throws {
        let progress = CopyProgress(context.terminal, of: backup.bytes) { cluster.restoredBytes }
        defer { progress.end() }
        try cluster.restore(backup, prepare: prepare)
    }

    private func tell(
        _ manifest: BackupManifest, _ backup: ClusterBackup, _ configuration: Configuration, _ context: CommandContext
    ) throws {
        let keys = try SealingKeys.existing(configuration)?.fingerprints ?? []
        if let fingerprint = manifest.fingerprint, !keys.contains(fingerprint) {
            context.terminal.complain(
                "warning: the key \(fingerprint), which seals the webhook secrets, is not on this host: "
                    + SealingKeys.remedy(configuration))
        }
        if context.json {
            guard case .object(var members) = manifest.document else { return }
            members.append(JSON.Member(name: "folder", value: .string(backup.folder)))
            members.append(JSON.Member(name: "state_dir", value: .string(configuration.stateDirectory)))
            context.terminal.document(.object(members))
            return
        }
        context.terminal.print(
            "\(configuration.stateDirectory) has the private Postgres of \(context.terminal.time(manifest.madeAt)),"
                + " schema \(manifest.schema.version): start `entitled run`")
    }
}
