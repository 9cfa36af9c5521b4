import CLibpq

/// Statements that a connection has had planned for its session, and whether it goes on doing so.
///
/// Behind a pooler in transaction mode the next statement may meet another session, which does not know the plan: then all is
/// run unplanned from there on.
struct PlannedStatements {
    private var names: Set<String> = []
    private(set) var isKept = true

    /// Of the whole text, so that a session of a pooler that knows the name means the same statement (FNV-1a, 64 bits).
    static func name(of sql: String) -> String {
        let hash = sql.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        return "entitled_\(String(hash, radix: 16))"
    }

    func knows(_ name: String) -> Bool { names.contains(name) }
    mutating func add(_ name: String) { names.insert(name) }

    mutating func giveUp() {
        names = []
        isKept = false
    }

    /// There is no such statement in this session, or its tables have changed since.
    static let lost: Set<String> = ["26000", "0A000"]
    /// A session of a pooler has it of another client.
    static let duplicate = "42P05"
}
