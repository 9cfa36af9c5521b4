import Base
import CLI
import Schemas

/// `entitled version`.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "version", "Print the release, the revision it was built from and the build.",
        discussion: "The revision is what ENTITLED_REVISION said when the program was built. The build is a hash of the"
            + " program, which tells two builds apart.",
        examples: ["version", "version --json"])

    func run(_ context: CommandContext) -> Int32 {
        if context.json {
            context.terminal.document(
                .object([
                    "version": .string(Version.current),
                    "revision": BuildIdentity.revision.map { .string($0) } ?? .null,
                    "build": BuildIdentity.id.map { .string($0) } ?? .null,
                    "schema": .int(Int64(SchemaVersion.current)), "oldest_schema": .int(Int64(SchemaVersion.oldest)),
                ]))
        } else {
            context.terminal.print(BuildIdentity.line)
        }
        return 0
    }
}
