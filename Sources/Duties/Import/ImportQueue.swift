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

        /// Whether Apple's answer is awaited, or held in memory.
        var needsApple: Bool {
            switch self {
            case .question, .bringIn: true
            case .otherStore, .refused, .unknown, .repetition: false
            }
        }
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
    private let inquiries: ImportInquiries
    private let asOf: Int64
    private var formers: [Int: Former] = [:]
    private(set) var items: ArraySlice<Item> = []
    private(set) var isAtEnd = false
    /// The last answer that was waited for did not come.
    private var hasFailed = false

    private static let mostItems = 2000
    /// Bytes of the rows that are held; receipts have a megabyte.
    private static let mostBytes: Int64 = 32 << 20
    /// Rows that are read at once about which Apple is asked, by so many threads. With fewer left, as many again are read.
    private static let mostQuestions = 32
    private static let threads = 8
    /// Rows of which it is remembered what came of them.
    private let mostFormers: Int

    /// - Parameter asOf: of the file, in ms.
    init(
        _ file: ImportFile, _ lookup: ImportLookup, _ actions: CustomerActions, from position: CSVReader.Position,
        asOf: Int64, mostFormers: Int = 1 << 17
    ) throws {
        self.file = file
        self.lookup = lookup
        self.actions = actions
        self.asOf = asOf
        self.mostFormers = mostFormers
        reader = try file.reader(at: position)
        inquiries = try ImportInquiries(threads: ImportQueue.threads, ask: lookup.answer)
        if position.offset == 0 { _ = try reader.next() }
    }

    /// Reads further rows where few are left that need Apple.
    mutating func fill(on connection: PostgresConnection) throws {
        guard !isAtEnd, items.count(where: \.task.needsApple) < ImportQueue.mostQuestions else { return }
        if try file.isChanged() {
            throw ImportFile.Failure(
                description: "\(file.path) was changed while it was imported: run the command again")
        }
        if formers.count > mostFormers {
            // What is queued may still ask for its own.
            let open = Set(items.compactMap(\.fingerprint))
            formers = formers.filter { open.contains($0.key) }
        }
        let begin = items.first?.record.end ?? reader.position.offset
        var questions: [(number: Int, question: ImportLookup.Question)] = []
        var queued = Set(items.compactMap(\.fingerprint))
        while items.count < ImportQueue.mostItems, questions.count < ImportQueue.mostQuestions,
            reader.position.offset - begin < ImportQueue.mostBytes
        {
            guard let record = try reader.next() else {
                isAtEnd = true
                break
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
            if case .question(_, let question) = item.task { questions.append((items.endIndex, question)) }
            items.append(item)
        }
        inquiries.add(questions)
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

    /// Waits until something can be said of the first row; Apple is asked about those behind it meanwhile.
    ///
    /// - Throws: where nothing can be said of the first one. The next call asks again.
    mutating func ask() throws(ServerAPIError) {
        guard let first = items.indices.first, case .question = items[first].task else { return }
        if hasFailed { inquiries.resume() }
        hasFailed = true
        try inquiries.wait(for: first)
        hasFailed = false
        for (place, answer) in inquiries.answers() {
            guard case .question(let row, _) = items[place].task else { continue }
            switch answer {
            case .found(let purchases): items[place].task = .bringIn(row, purchases)
            case .unknown(let reason): items[place].task = .unknown(reason)
            case .refused(let reason): items[place].task = .refused(reason)
            }
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
    ///
    /// - Parameter leftOut: attributes of the row that was brought in, which cannot be written here.
    func count(
        _ done: ArraySlice<Item>, isNew: Bool, leftOut: [AttributePolicy.Fault] = [],
        into progress: inout ImportProgress
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
                if !leftOut.isEmpty {
                    let faults = leftOut.map { "\($0.key) (\($0.message))" }.joined(separator: ", ")
                    reject(item, "imported without attributes that cannot be written: \(faults)")
                }
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
