import Base
import CLI
import Database
import Operator

/// Asks for jobs of several steps, which a worker does: on the host, or an operator API.
struct JobAsker {
    let source: any OperatorSource
    private let local: LocalOperator?
    private let remote: OperatorClient?
    private let actor: String

    init(_ context: CommandContext) throws {
        actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
        if let remote = context.remote {
            (source, self.remote, local) = (remote, remote, nil)
        } else {
            let local = try LocalOperator(try context.configuration(), isChanging: true)
            (source, self.local, remote) = (local, local, nil)
        }
    }

    /// - Parameter more: members beside kind, filter and reason.
    private static func document(
        _ request: BulkRequest, _ filter: [JSON.Member], _ more: [JSON.Member]
    ) -> [JSON.Member] {
        [
            JSON.Member(name: "kind", value: .string(request.rawValue)),
            JSON.Member(name: "filter", value: .object(filter)),
        ] + more
    }

    /// What it would come to.
    func preview(_ request: BulkRequest, _ filter: [JSON.Member], more: [JSON.Member] = []) throws -> JSON {
        let document = JSON.object(JobAsker.document(request, filter, more))
        if let local { return try local.preview(document, by: actor) }
        return try remote?.preview(["jobs"], document) ?? .null
    }

    /// - Returns: the number of the job, and the answer as the operator API gives it.
    func ask(
        _ request: BulkRequest, _ filter: [JSON.Member], more: [JSON.Member] = [], plan: String? = nil, reason: String
    ) throws -> (job: Int64, answer: JSON) {
        let document = JSON.object(
            JobAsker.document(request, filter, more) + [JSON.Member(name: "reason", value: .string(reason))])
        if let local {
            let job = try local.post(document, plan: plan, by: actor)
            let answer = JSON.object([
                "job": .int(job), "kind": .string(request.kind.rawValue), "state": .string("running"),
            ])
            return (job, answer)
        }
        guard let remote else { throw CommandFailure("no operator API is named") }
        let answer = try remote.post(["jobs"], document, plan: plan).answer
        guard let job = answer["job"]?.intValue else {
            throw CommandFailure("the answer of the operator API names no job")
        }
        return (job, answer)
    }
}
