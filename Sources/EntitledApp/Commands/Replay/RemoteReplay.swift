import Base
import CLI
import Operator

/// Replays that an operator API is asked for.
enum RemoteReplay {
    /// Members of those that have a value.
    static func members(_ values: [(name: String, value: String?)]) -> [JSON.Member] {
        values.compactMap { name, value in value.map { JSON.Member(name: name, value: .string($0)) } }
    }

    static func rate(_ rate: Int?) -> [JSON.Member] {
        rate.map { [JSON.Member(name: "rate", value: .int(Int64($0)))] } ?? []
    }

    /// - Parameter more: members of the request beside the filter.
    /// - Returns: the exit status.
    static func ask(
        _ request: BulkRequest, _ filter: [JSON.Member], _ more: [JSON.Member], _ change: ChangeOptions,
        _ context: CommandContext
    ) throws -> Int32 {
        let reason = try change.reason(context, standard: "")
        let asker = try JobAsker(context)
        let asked = try asker.ask(request, filter, more: more, reason: reason)
        return try change.tell(asked.job, asked.answer, of: asker.source, context)
    }
}
