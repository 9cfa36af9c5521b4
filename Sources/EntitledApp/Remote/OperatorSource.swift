import Base
import CLI
import Crypto
import Database
import Operator
import Postgres
import Schemas

/// The questions of the operator API as commands ask them: of the database of this host, or over HTTP. The answers are the same,
/// byte for byte.
protocol OperatorSource {
    /// The answer as JSON, without a line end.
    ///
    /// - Parameters:
    ///   - path: segments below `/operator/v1`, as they are.
    ///   - query: parameters; those without a value are left out.
    /// - Throws: `OperatorRefusal` where the API refuses.
    func get(_ path: [String], _ query: [(name: String, value: String?)]) throws -> [UInt8]
}

/// The reason why the operator API does not answer a question: one line for people.
struct OperatorRefusal: Error, Equatable, CustomStringConvertible {
    /// Of HTTP.
    let status: Int
    /// Of the API, such as `not_found`.
    let code: String
    let description: String
    /// The change that it is about.
    var job: Int64?
    /// After so many seconds the same may be answered.
    var retryAfter: Int?

    init(status: Int, code: String, _ message: String, job: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.code = code
        self.job = job
        self.retryAfter = retryAfter
        // Errors of commands have no full stop.
        description = message.hasSuffix(".") ? String(message.dropLast()) : message
    }
}

/// Asks the database of this host, as an operator who sees everything.
struct LocalOperator: OperatorSource {
    fileprivate let settings: DeskSettings
    fileprivate let connection: PostgresConnection
    fileprivate static let viewer = Viewer(user: "host", role: .operator)

    /// - Parameter isChanging: whether changes are asked for, which the console's role writes for its operators alone.
    init(_ configuration: Configuration, isChanging: Bool = false) throws {
        settings = DeskSettings(configuration)
        let access = try DatabaseAccess(configuration)
        // The worker's role reads what the console's does, where the console was never set up.
        connection = try access.connect(!isChanging && access.hasURL(of: .console) ? .console : .worker)
    }

    func get(_ path: [String], _ query: [(name: String, value: String?)]) throws -> [UInt8] {
        do {
            return try OperatorRoute.answer(
                to: RemoteAddress.path(path), query: RemoteAddress.query(query), for: LocalOperator.viewer, settings,
                now: SystemClock().now(), on: connection
            ).json.bytes
        } catch let error as DeskError {
            throw OperatorRefusal(status: error.status, code: error.code, error.message)
        }
    }
}

extension LocalOperator {
    private func asked<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DeskError {
            throw OperatorRefusal(status: error.status, code: error.code, error.message)
        }
    }

    private static func origin(_ actor: String) -> ChangeOrigin {
        ChangeOrigin(user: actor, credential: .host, address: "", userAgent: nil)
    }

    /// What a change of many rows would come to.
    func preview(_ document: JSON, by actor: String) throws -> JSON {
        try asked {
            try ChangeDesk(settings).preview(
                .jobs, of: [:], body: document.bytes, by: LocalOperator.viewer, from: LocalOperator.origin(actor),
                now: SystemClock().now(), on: connection
            ).json
        }
    }

    /// Asks for a change of many rows, which a worker does.
    ///
    /// - Returns: the number of the job.
    func post(_ document: JSON, plan: String?, by actor: String) throws -> Int64 {
        try asked {
            try ChangeDesk(settings).ask(
                .jobs, of: [:], body: document.bytes, by: LocalOperator.viewer, from: LocalOperator.origin(actor),
                idempotencyKey: Hex.encode(SecureRandom.bytes(16)), insisting: plan, now: SystemClock().now(),
                on: connection
            ).job
        }
    }
}

extension CommandContext {
    /// Whom a command asks that asks the operator API's questions in any case.
    func operators() throws -> any OperatorSource {
        if let remote { return remote }
        return try LocalOperator(try configuration())
    }

    /// A document of the operator API: as it came for programs, indented for people.
    func document(_ bytes: [UInt8]) throws {
        guard terminal.isInteractive else { return terminal.document(.raw(bytes)) }
        terminal.document(try JSON(ordered: bytes))
    }
}

// MARK: - Lists

/// The rows of a list that a command shows.
struct AnswerList {
    var items: [JSON] = []
    /// The cursor of the next page.
    var next: String?
    /// How far back the list was read where that is not to its end.
    var lookedBackTo: String?

    var document: JSON {
        .object(["items": .array(items), "next": .text(next), "looked_back_to": .text(lookedBackTo)])
    }
}

extension OperatorSource {
    func json(_ path: [String], _ query: [(name: String, value: String?)] = []) throws -> JSON {
        try JSON(ordered: try get(path, query))
    }

    /// A list without pages.
    func all(_ path: [String]) throws -> AnswerList {
        AnswerList(items: try json(path)["items"]?.arrayValue ?? [])
    }

    /// A list's first rows after a cursor. Pages that were cut because no index orders them are gone on with for a while.
    func list(
        _ path: [String], _ filters: [(name: String, value: String?)], after: String?, limit: Int
    ) throws -> AnswerList {
        var list = AnswerList(next: after)
        let deadline = ContinuousClock.now + .seconds(10)
        repeat {
            let size = min(Int(DeskParameters.mostRows), limit - list.items.count)
            let page = try json(path, filters + [("after", list.next), ("limit", String(size))])
            list.items += page["items"]?.arrayValue ?? []
            list.next = page["next"]?.stringValue
            list.lookedBackTo = page["looked_back_to"]?.stringValue
        } while list.next != nil && list.items.count < limit && (list.lookedBackTo == nil || .now < deadline)
        return list
    }
}

extension JSON {
    /// The value of a member as a cell of a table shows it; empty for null.
    func cell(_ name: String) -> String {
        switch self[name] {
        case nil, .null: ""
        case .string(let text): text
        case .array(let values): values.map { $0.stringValue ?? $0.text }.joined(separator: ", ")
        case .some(let value): value.text
        }
    }

    /// The object without these members.
    func without(_ names: Set<String>) -> JSON {
        members.map { .object($0.filter { !names.contains($0.name) }) } ?? self
    }

    /// An instant in ms since 1970.
    func instant(_ name: String) -> Int64? { self[name]?.stringValue.flatMap(Timestamp.parse) }

    /// A number that has a fraction.
    func fraction(_ name: String) -> Double { self[name].flatMap { Double($0.text) } ?? 0 }
}
