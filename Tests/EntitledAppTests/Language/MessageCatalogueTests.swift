import CLI
import EntitledApp
import FoundationEssentials
import Testing

/// Log messages, errors and help use the words of the glossary, and the pages that list them are complete.
struct MessageCatalogueTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let catalogue = Result { try MessageCatalogue(package) }
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1"

    @Test func `names of log events are short and have no word that the glossary replaces`() throws {
        let glossary = try Glossary(Self.package)
        let events = try Self.catalogue.get().events
        #expect(events.count > 80)
        for event in events {
            #expect((1...6).contains(event.name.split(separator: " ").count), "\(event)")
            #expect(event.name.last?.isLetter == true && !event.name.contains("…"), "\(event)")
            #expect(glossary.faults(in: event.name, isEvent: true).isEmpty, "\(event)")
        }
    }

    /// Elsewhere an event would be missing in the page.
    @Test func `loggers get the name of the event where they are called`() throws {
        #expect(
            try Self.catalogue.get().indirect == [
                "Daemon: event", "Duties: D.failure", "Duties: ExtensionDuty.failure", "Duties: InquiryDuty.failure",
                "Duties: JobDuty.failure",
                "Worker: event",
            ])
    }

    /// The rows are written when `UPDATE_GENERATED` is set; a new event still needs its meaning.
    @Test func `the page of messages explains each log event`() throws {
        let file = Self.package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Messages.md")
        let heading = "\n|---|---|---|---|\n"
        var page = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(page.firstRange(of: heading))
        var meanings: [String: String] = [:]
        for row in page[start.upperBound...].split(separator: "\n") {
            let cells = row.split(separator: "|").map { String($0.drop { $0 == " " }) }
            guard cells.count == 4 else { continue }
            meanings[cells[0].filter { $0 != "`" }.trimmed] = cells[3].trimmed
        }
        let events = Dictionary(grouping: try Self.catalogue.get().events, by: \.name)
        let rows = events.sorted { $0.key.lowercased() < $1.key.lowercased() }.map { name, places in
            let levels = Set(places.map(\.level)).sorted().joined(separator: ", ")
            let modules = Set(places.map(\.module)).sorted().joined(separator: ", ")
            return "| `\(name)` | \(levels) | \(modules) | \(meanings[name] ?? "") |"
        }
        let wanted = page[..<start.upperBound] + rows.joined(separator: "\n") + "\n"
        if Self.isUpdating { try Data(wanted.utf8).write(to: file) }
        page = try String(contentsOf: file, encoding: .utf8)
        #expect(page == wanted, "write it again with UPDATE_GENERATED=1 swift test --filter MessageCatalogueTests")
        let glossary = try Glossary(Self.package)
        for name in events.keys {
            let meaning = meanings[name] ?? ""
            #expect(meaning.count > 20 && meaning.last == ".", "\(name): \(meaning)")
            #expect(glossary.faults(in: meaning).isEmpty, "\(name): \(meaning)")
        }
    }

    /// The file is written when `UPDATE_GENERATED` is set, to be read as a whole.
    @Test func `the file of errors lists each error text`() throws {
        let file = Self.package.appending(path: "schemas/cli/errors.txt")
        let wanted = try Self.catalogue.get().errors.sorted().joined(separator: "\n") + "\n"
        if Self.isUpdating { try Data(wanted.utf8).write(to: file) }
        #expect(
            try String(contentsOf: file, encoding: .utf8) == wanted,
            "write it again with UPDATE_GENERATED=1 swift test --filter MessageCatalogueTests, and read what changed")
    }

    @Test func `texts of the program have no word that the glossary replaces`() throws {
        let glossary = try Glossary(Self.package)
        for (file, texts) in try Self.catalogue.get().texts {
            for text in texts where text.split(separator: " ").count > 2 {
                #expect(glossary.faults(in: text).isEmpty, "\(file): \(text)")
            }
        }
    }

    @Test func `help has no word that the glossary replaces`() throws {
        let glossary = try Glossary(Self.package)
        func texts(_ node: CommandNode<CommandContext>) -> [String] {
            let declaration = node.declaration
            let topics = declaration.topics.flatMap { $0.entries.map(\.text) }
            return [declaration.summary, declaration.discussion] + topics + declaration.options.map(\.summary)
                + declaration.arguments.map(\.summary) + node.children.flatMap(texts)
        }
        for text in texts(CommandTree.root) {
            #expect(glossary.faults(in: text).isEmpty, "\(text)")
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
