import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

/// The rows of a file that come next, with what Apple says of them. Of a file of any length it holds a few.
struct ImportQueue {
    /// What is to be done about a row.
    enum Task: Sendable {
        case otherStore
        case refused(String)
        case unknown(String)
        /// It is what a row before said.
        case repetition
        /// Apple has to be asked.
        case question(ImportRow, ImportLookup.Question)
        case bringIn(ImportRow, [CustomerActions.ImportedPurchase])
    }

    struct Item: Sendable {
        let record: CSVReader.Record
        /// Of the line behind it.
        let nextLine: Int64
        /// Of what the row says; nil: nothing that can be said twice.
        let fingerprint: Int?
        var task: Task
    }

    /// What came of rows, so that a repetition need not be done again: exports have a row for each period.
    private enum Former {
        case fine
        case unknown(String)
        case refused(String)
    }

    private let file: ImportFile
    private let lookup: ImportLookup
    private let actions: CustomerActions
    private var reader: CSVReader
    private let asOf: Int64
    private var formers: [Int: Former] = [:]
    private(set) var items: ArraySlice<Item> = []
    private(set) var isAtEnd = false

    private static let mostItems = 2000
    /// Bytes of the rows that are held; receipts have a megabyte.
    private static let mostBytes: Int64 = 32 << 20
    /// Rows about which Apple is asked at once, by so many threads.
    private static let mostQuestions = 32
    private static let threads = 8
    private static let mostFormers = 1 << 17

    /// - Parameter asOf: of the file, in ms.
    init(
        _ file: ImportFile, _ lookup: ImportLookup, _ actions: CustomerActions, from position: CSVReader.Position,
        asOf: Int64
    ) throws {
        self.file = file
        self.lookup = lookup
        self.actions = actions
        self.asOf = asOf
        reader = file.reader(at: position)
        if position.offset == 0 { _ = try reader.next() }
    }

    /// Reads further rows where there are none left.
    mutating func fill(on connection: PostgresConnection) throws {
        guard items.isEmpty, !isAtEnd else { return }
        if try file.isChanged() {
            throw ImportFile.Failure(description: "\(file.path) was changed while it was imported")
        }
        if formers.count > ImportQueue.mostFormers { formers = [:] }
        var questions = 0
        let begin = reader.position.offset
        var queued: Set<Int> = []
        while items.count < ImportQueue.mostItems, questions < ImportQueue.mostQuestions,
            reader.position.offset - begin < ImportQueue.mostBytes
        {
            guard let record = try reader.next() else {
                isAtEnd = true
                return
            }
            var item = Item(
                record: record, nextLine: reader.position.line, fingerprint: nil, task: .otherStore)
            switch ImportRow.read(record, file.layout, asOf: asOf) {
            case .otherStore: break
            case .flawed(let reason): item.task = .refused(reason)
            case .row(let row):
                let fingerprint = row.hashValue
                let isKnown = formers[fingerprint] != nil || queued.contains(fingerprint)
                item = Item(
                    record: record, nextLine: item.nextLine, fingerprint: fingerprint,
                    task: isKnown ? .repetition : try task(row, on: connection))
                queued.insert(fingerprint)
            }
            if case .question = item.task { questions += 1 }
            items.append(item)
        }
    }

    private func task(_ row: ImportRow, on connection: PostgresConnection) throws -> Task {
        let question: ImportLookup.Question
        do throws(ImportLookup.Refusal) {
            question = try lookup.question(row)
        } catch {
            return .refused(error.reason)
        }
        let known = try lookup.known(question, on: connection)
        if !known.isEmpty, try actions.isImported(known, by: row.appUserID, on: connection) { return .bringIn(row, []) }
        return .question(row, question)
    }

    /// Asks Apple about the rows that need it.
    ///
    /// - Throws: where nothing can be said of the first one.
    mutating func ask() throws(ServerAPIError) {
        let open = items.indices.filter { place in
            if case .question = items[place].task { true } else { false }
        }
        guard let first = open.first, first == items.startIndex else { return }
        let answers = Monitor<[Int: Result<ImportLookup.Answer, ServerAPIError>]>([:])
        let questions = open.compactMap { place -> (place: Int, question: ImportLookup.Question)? in
            guard case .question(_, let question) = items[place].task else { return nil }
            return (place, question)
        }
        let lookup = lookup
        let next = Monitor(0)
        @Sendable func work() {
            while true {
                let number = next.change { number -> Int in
                    defer { number += 1 }
                    return number
                }
                guard questions.indices.contains(number) else { return }
                let (place, question) = questions[number]
                let answer = Result { () throws(ServerAPIError) in try lookup.answer(question) }
                answers.change { $0[place] = answer }
                // What holds for one holds for those behind it.
                if case .failure = answer { next.change { $0 = questions.count } }
            }
        }
        let threads = (1..<min(ImportQueue.threads, max(1, questions.count))).compactMap { number in
            ServiceThread(orNil: "import-\(number)") { work() }
        }
        work()
        for thread in threads { thread.join() }
        let found = answers.read { $0 }
        for (place, answer) in found {
            guard case .question(let row, _) = items[place].task, case .success(let answer) = answer else { continue }
            switch answer {
            case .found(let purchases): items[place].task = .bringIn(row, purchases)
            case .unknown(let reason): items[place].task = .unknown(reason)
            case .refused(let reason): items[place].task = .refused(reason)
            }
        }
        guard case .question = items[first].task else { return }
        // Threads that were behind were stopped by the failure of another.
        for place in open {
            if case .failure(let error)? = found[place] { throw error }
        }
    }

    /// The items at the beginning that change nothing but the count.
    var idle: ArraySlice<Item> {
        items.prefix { item in
            switch item.task {
            case .otherStore, .refused, .unknown: true
            // What it repeats may be among those before it.
            case .repetition: item.fingerprint.map { formers[$0] != nil } ?? false
            case .question, .bringIn: false
            }
        }
    }

    /// Counts what comes of items, and gives those that need a person.
    func count(
        _ done: ArraySlice<Item>, isNew: Bool, into progress: inout ImportProgress
    ) -> [(line: Int64, reason: String, fields: [String])] {
        var rejected: [(line: Int64, reason: String, fields: [String])] = []
        func reject(_ item: Item, _ reason: String) {
            rejected.append((item.record.line, reason, item.record.fields))
        }
        for item in done {
            progress.rows += 1
            progress.position = CSVReader.Position(offset: item.record.end, line: item.nextLine)
            switch resolved(item) {
            case .otherStore: progress.otherStores += 1
            case .refused(let reason):
                progress.refused += 1
                reject(item, reason)
            case .unknown(let reason):
                progress.unknown += 1
                reject(item, reason)
            case .repetition: progress.already += 1
            case .question, .bringIn:
                if isNew { progress.imported += 1 } else { progress.already += 1 }
            }
        }
        return rejected
    }

    private func resolved(_ item: Item) -> Task {
        guard case .repetition = item.task, let former = item.fingerprint.flatMap({ formers[$0] }) else {
            return item.task
        }
        switch former {
        case .fine: return .repetition
        case .unknown(let reason): return .unknown(reason)
        case .refused(let reason): return .refused(reason)
        }
    }

    /// These are done, and behind them others are the first.
    mutating func remove(_ done: ArraySlice<Item>) {
        for item in done {
            guard let fingerprint = item.fingerprint, formers[fingerprint] == nil else { continue }
            switch item.task {
            case .unknown(let reason): formers[fingerprint] = .unknown(reason)
            case .refused(let reason): formers[fingerprint] = .refused(reason)
            default: formers[fingerprint] = .fine
            }
        }
        items = items.dropFirst(done.count)
    }

    /// The first one cannot be brought in.
    mutating func refuseFirst(_ reason: String) {
        items[items.startIndex].task = .refused(reason)
    }
}
