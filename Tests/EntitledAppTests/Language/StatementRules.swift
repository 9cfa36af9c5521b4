import Foundation
import Postgres
import Schemas
import TestSupport

/// A statement of the program, or a part of one, as it stands in a literal.
struct StatementText {
    /// The file without its ending, from `Sources` on.
    let file: String
    /// The declaration in which it stands.
    let name: String
    let text: String

    /// All literals of the program that name the schema `entitled`. What engineers of this repository run is left out.
    static func all(_ package: URL) throws -> [StatementText] {
        let root = package.appending(path: "Sources").path
        let files = try FileManager.default.subpathsOfDirectory(atPath: root).sorted().filter { file in
            file.hasSuffix(".swift")
                && !["Benchmarks/", "StoreSimulator/", "storesim/"].contains { file.hasPrefix($0) }
        }
        return try files.flatMap { file in
            of(SwiftSource(try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)), String(file.dropLast(6)))
        }
    }

    private static func of(_ source: SwiftSource, _ file: String) -> [StatementText] {
        var (found, name) = ([StatementText](), "")
        for (index, token) in source.tokens.enumerated() {
            switch token {
            case .word("let"), .word("var"), .word("func"): name = source.word(at: index + 1) ?? name
            case .text(let text) where text.contains("entitled."), .block(let text) where text.contains("entitled."):
                found.append(StatementText(file: file, name: name, text: text))
            default: break
            }
        }
        return found
    }
}

/// What a statement may not do where tables are distributed by `lane` over the servers of a cluster.
///
/// One Postgres takes all of them. A cluster refuses some, and asks each shard for others.
enum StatementFault: String, CaseIterable {
    /// R1: a distributed table is read for each row of a list of lanes, without `lane = ANY($n)` of its own.
    case lateral
    /// R1: a distributed table is joined to the rows of parameters, without `lane = ANY($n)` of its own: equality does not follow through
    /// the join.
    case joined
    /// R1: no lanes are named at all: every shard is asked.
    case everyLane
    /// R2: distributed tables and such as lie on the coordinator stand in one statement.
    case local
    /// R3: rows are locked in shards that are not named.
    case lock
    /// R4: the clock, or a random value, of the statement's own is written to a table of several servers: an instant as a parameter does.
    case clock
    /// R6: the place or the size of rows is asked for, which the coordinator does not know; or the lane of a row changes.
    case physical
    /// The table is not named in the text.
    case unnamed
    /// R7: rows are put into a table of the coordinator by a part of a statement: any server is asked to pass them on.
    case anywhere
}

struct StatementRules {
    private let words: [String]
    private let text: String

    init(_ text: String) {
        self.text = StatementRules.onCluster(text)
        words = StatementRules.words(self.text)
    }

    /// As a cluster is sent it; keys of purchases name their lanes there.
    private static func onCluster(_ text: String) -> String {
        ClusterText.of(text).replacing(#/\\\(PurchaseKeys\.equal\("(\w+)"[^)]*\)\)/#) { match in
            "\(match.1).lane = ANY($1)"
        }
    }

    private struct Reference {
        let table: String
        let alias: String?
        /// What stands before it, such as `from`.
        let before: String
        let isDeleted: Bool
        /// Whether it stands in parentheses.
        let isPart: Bool

        var placement: TablePlacement? { TablePlacement.tables[table] ?? partitions[table] }
        var isTarget: Bool { isDeleted || ["into", "update"].contains(before) }

        private var partitions: [String: TablePlacement] {
            ["notification_default": .distributed, "attempt_default": .distributed]
        }
    }

    private static let keywords: Set = [
        "where", "set", "join", "left", "inner", "cross", "on", "order", "group", "limit", "using", "select", "values",
        "for", "union", "default", "returning", "and", "or", "having", "offset", "natural", "full", "right", "do",
    ]

    /// Words and marks in lower case; a text in quotes is `''`, an interpolation `§`.
    private static func words(_ text: String) -> [String] {
        var (words, word, rest) = ([String](), "", Substring(text))
        func end() {
            if !word.isEmpty { words.append(word.lowercased()) }
            word = ""
        }
        while let next = rest.first {
            if rest.hasPrefix("\\(") {
                end()
                words.append("§")
                rest.removeFirst(2)
                var depth = 1
                while depth > 0, let mark = rest.popFirst() { depth += mark == "(" ? 1 : mark == ")" ? -1 : 0 }
                continue
            }
            rest.removeFirst()
            if next.isLetter || next.isNumber || next == "_" || next == "$" {
                word.append(next)
            } else if next == "…" {
                end()
                words.append("§")
            } else if next == "-", rest.first == "-" {
                end()
                rest = rest.drop { !$0.isNewline }
            } else if next == "'" {
                end()
                rest = rest.drop { $0 != "'" }.dropFirst()
                words.append("''")
            } else {
                end()
                if !next.isWhitespace { words.append(String(next)) }
            }
        }
        end()
        return words
    }

    private func word(_ index: Int) -> String { words.indices.contains(index) ? words[index] : "" }

    private var references: [Reference] {
        var depth = 0
        return words.indices.compactMap { index in
            depth += words[index] == "(" ? 1 : words[index] == ")" ? -1 : 0
            guard words[index] == "entitled", word(index + 1) == "." else { return nil }
            let table = word(index + 2)
            guard TablePlacement.tables[table] != nil || table.hasSuffix("_default") else { return nil }
            let first = word(index + 3) == "as" ? word(index + 4) : word(index + 3)
            let isAlias = first.first.map { $0.isLetter } == true && !StatementRules.keywords.contains(first)
            let place = word(index - 1) == "only" ? index - 2 : index - 1
            return Reference(
                table: table, alias: isAlias ? first : nil, before: word(place),
                isDeleted: word(place) == "from" && word(place - 1) == "delete", isPart: depth > 0)
        }
    }

    /// Tables, by alias or name, whose lanes are named; nil where that is said of no table.
    private var conditions: [String?] {
        words.indices.compactMap { index in
            guard words[index] == "lane", word(index + 1) == "=" else { return nil }
            let value = word(index + 2) == "any" && word(index + 3) == "(" ? word(index + 4) : word(index + 2)
            guard value.hasPrefix("$") else { return nil }
            return .some(word(index - 1) == "." ? word(index - 2) : nil)
        }
    }

    /// Whether these words follow each other somewhere.
    private func has(_ sequence: String...) -> Bool {
        words.indices.contains { index in sequence.indices.allSatisfy { word(index + $0) == sequence[$0] } }
    }

    private static let volatile: Set = ["clock_timestamp", "random", "gen_random_uuid", "nextval"]
    private static let sizes: Set = ["pg_relation_size", "pg_total_relation_size", "pg_table_size"]

    /// Empty for a text that is no statement, or keeps all rules.
    var faults: Set<StatementFault> {
        let references = references
        let distributed = references.filter { $0.placement == .distributed }
        var faults: Set<StatementFault> = []
        if words.indices.contains(where: { words[$0] == "entitled" && word($0 + 1) == "." && word($0 + 2) == "§" }),
            !Set(words).isDisjoint(with: ["select", "insert", "update", "delete"])
        {
            faults.insert(.unnamed)
        }
        let isUnbound = isUnbound(distributed)
        // The table that has a row on its server is named by the row, and its blocks are those of one shard.
        if !distributed.isEmpty || references.isEmpty, !StatementRules.sizes.isDisjoint(with: words),
            !words.contains("tableoid")
        {
            faults.insert(.physical)
        }
        if isUnbound, words.contains("ctid") { faults.insert(.physical) }
        if isUnbound {
            let isOfLanes = references.contains { $0.table == "lane" } && !text.contains("unnest")
            faults.insert(
                words.contains("lateral") && !isOfLanes ? .lateral : text.contains("unnest") ? .joined : .everyLane)
        }
        if !distributed.isEmpty, references.contains(where: { [.managed, .separate].contains($0.placement) }) {
            faults.insert(.local)
        }
        let isLocking =
            has("for", "update") || has("for", "no", "key", "update") || has("for", "share")
            || has("for", "key", "share") || has("skip", "locked")
        if isUnbound, isLocking { faults.insert(.lock) }
        if references.contains(where: { $0.isTarget && [.distributed, .managed].contains($0.placement) }),
            !StatementRules.volatile.isDisjoint(with: words)
        {
            faults.insert(.clock)
        }
        if !distributed.isEmpty, has("set", "lane", "=") { faults.insert(.physical) }
        if references.contains(where: { $0.isPart && $0.before == "into" && $0.placement == .managed }) {
            faults.insert(.anywhere)
        }
        return faults
    }

    /// Whether some of these is used without its lanes. What is inserted gets its lanes from what is selected.
    private func isUnbound(_ distributed: [Reference]) -> Bool {
        let conditions = conditions
        var free = conditions.count { $0 == nil }
        for reference in distributed where reference.before != "into" {
            if conditions.contains(reference.alias ?? reference.table) { continue }
            free -= 1
            if free < 0 { return true }
        }
        return false
    }
}
