import Base
import Daemon
import Glibc

/// The files that the configuration names: that they can be read, and only by the users that should.
enum FileChecks {
    static let all = [Check("configuration.files", within: .seconds(10)) { look($0) }]

    private static func look(_ context: CheckContext) -> [Finding] {
        let secrets = secretFiles(context)
        guard !secrets.isEmpty else { return [.ok("no private key is in a file")] }
        let found = secrets.flatMap { key, path in judge(key, path) }
        return found.isEmpty ? [.ok("private keys: readable, and not by everybody (\(secrets.count))")] : found
    }

    /// What holds a secret: the key of the configuration, or the variable, and the path.
    private static func secretFiles(_ context: CheckContext) -> [(key: String, path: String)] {
        let configuration = context.configuration
        var files: [(key: String, path: String)] = []
        if let tls = configuration.ingest.tls { files.append(("ingest.tls_key_file", tls.key)) }
        for (index, app) in configuration.apps.enumerated() {
            if let api = app.serverAPI {
                files.append(("apps[\(index)].server_api.private_key_file", api.privateKeyFile))
                if let other = api.previous {
                    files.append(("apps[\(index)].server_api.previous.private_key_file", other.privateKeyFile))
                }
            }
        }
        for (name, path) in context.surroundings.environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("ENTITLED_") && name.hasSuffix("_FILE") && !path.isEmpty {
            files.append((name, context.surroundings.resolve(path)))
        }
        let sealing = "\(configuration.stateDirectory)/webhook-secrets.key"
        if configuration.webhooks.secretKeys.isEmpty, access(sealing, F_OK) == 0 {
            files.append(("webhooks.secret_keys", sealing))
        }
        return files
    }

    private static func judge(_ key: String, _ path: String) -> [Finding] {
        var information = stat()
        guard stat(path, &information) == 0 else {
            return [.error("\(key): \(path): \(String(cString: strerror(errno)))", "create the file")]
        }
        var findings: [Finding] = []
        let mode = information.st_mode & 0o777
        // The owner's group may read it: so services get their keys.
        if mode & 0o027 != 0 {
            findings.append(
                .error(
                    "\(key): others may read or change \(path) (mode \(String(mode, radix: 8)))",
                    "chmod 600 \(path), or 640 where its group needs it"))
        }
        if access(path, R_OK) != 0 {
            findings.append(
                .warning(
                    "\(key): this user may not read \(path)", "run the doctor as the user of the service"))
        }
        return findings
    }
}
