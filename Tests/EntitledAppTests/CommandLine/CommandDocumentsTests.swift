import CLI
import EntitledApp
import FoundationEssentials
import TestSupport
import Testing

/// The manual page, the completions and the collected help say what the declarations of commands say.
struct CommandDocumentsTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let documents = CommandDocuments(CommandTree.root)
    private static let files: [(path: String, text: String)] = [
        ("deploy/man/entitled.1", documents.manual), ("deploy/completions/entitled.bash", documents.bash),
        ("deploy/completions/_entitled", documents.zsh), ("schemas/cli/help.txt", documents.help),
    ]

    /// The files are written when `UPDATE_GENERATED` is set.
    @Test(arguments: files.map(\.path))
    func `generated files follow the declarations of commands`(path: String) throws {
        let wanted = try #require(Self.files.first { $0.path == path }).text
        let file = Self.package.appending(path: path)
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(wanted.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == wanted)
    }

    @Test(arguments: [
        (["entitled", "end"], ["endpoints"]), (["entitled", "keys", "re"], ["revoke"]),
        (["entitled", "keys", "create", "--kind", ""], ["public", "secret"]),
        (["entitled", "replay", "webhooks", "--end"], ["--endpoint"]), (["entitled", "--vers"], ["--version"]),
        (["entitled", "--json", "customers", "trans"], ["transfer"]), (["entitled", "zzz"], []),
    ])
    func `bash completes commands, options and their values`(words: [String], offered: [String]) throws {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let script = """
            \(Self.documents.bash)
            COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
            COMP_CWORD=\(words.count - 1)
            _entitled
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let file = "\(folder)/script"
        try Data(script.utf8).write(to: URL(filePath: file))
        let output = try TestCommand.run(["/bin/bash", "-eu", file])
        #expect(output.split(separator: "\n").map(String.init) == offered)
    }
}
