import CLI

/// What `entitled doctor` takes.
package struct DoctorOptions: Sendable, Equatable {
    package let isOffline: Bool

    package init(_ parsed: ParsedArguments) {
        isOffline = parsed.has("--offline")
    }

    package static let declaration = CommandDeclaration(
        "doctor", "Check the installation and suggest fixes.",
        discussion:
            "Configuration, files, database, privileges, certificates, clocks, workers, backlogs, apps, endpoints; and"
            + " for each app with server_api whether Apple takes the key and a test notification arrives. Each line is"
            + " ok, a warning or an error. Exit status 1 if there is an error. It changes nothing.",
        options: [OptionDeclaration("--offline", "Skip the checks that ask Apple.")],
        examples: ["doctor", "doctor --offline --json"])
}
