import Base
import Database
import Subscriptions

/// What an operator asks Apple about.
enum Inquiry: Sendable, Equatable {
    case purchase(PurchaseKey)
    /// Apple's number of an order, in the apps that can be asked.
    case order(String, apps: [String])

    var isOrder: Bool { if case .order = self { true } else { false } }
}

/// How far an inquiry is, as the cursor of its job keeps it: whichever worker goes on begins behind it.
struct InquiryProgress: Sendable, Equatable {
    /// What Apple signed that was not known before.
    var news = News()
    /// Parts that came.
    var parts: Int64 = 0
    /// How the subscription stands, in a word of Apple's; nil: it is none, or is not known yet.
    var status: String?
    /// The transaction that came with the status.
    var stated: String?
    /// Of a purchase: what is left to ask of the history of its account; nil: everything.
    var rest: Rest?
    /// Of an order: apps of which Apple has answered.
    var answered: [String] = []
    /// Of an order: why Apple could not be asked of further apps, by app.
    var failures: [String: String] = [:]
    /// Of an order: the purchases that it is of.
    var purchases: [PurchaseKey] = []

    struct News: Sendable, Equatable {
        var transactions: Int64 = 0
        /// How a subscription stands and renews.
        var states: Int64 = 0

        static func + (a: News, b: News) -> News {
            News(transactions: a.transactions + b.transactions, states: a.states + b.states)
        }
    }

    struct Rest: Sendable, Equatable {
        let id: String
        let revision: String?
        let others: Set<String>
    }

    init() {}

    /// Nothing where the cursor is another one.
    init(cursor: [String]) {
        guard let json = cursor.first.flatMap({ try? JSON(parsing: Array($0.utf8)) }) else { return }
        news = News(transactions: json["news"]?.intValue ?? 0, states: json["states"]?.intValue ?? 0)
        parts = json["parts"]?.intValue ?? 0
        status = json["status"]?.stringValue
        stated = json["stated"]?.stringValue
        if let id = json["id"]?.stringValue {
            rest = Rest(
                id: id, revision: json["revision"]?.stringValue,
                others: Set(json["others"]?.arrayValue?.compactMap(\.stringValue) ?? []))
        }
        answered = json["answered"]?.arrayValue?.compactMap(\.stringValue) ?? []
        for member in json["failures"]?.members ?? [] { failures[member.name] = member.value.stringValue }
        purchases = json["purchases"]?.arrayValue?.compactMap(PurchaseKey.init(named:)) ?? []
    }

    var cursor: [String] {
        [
            JSON.object([
                "news": .int(news.transactions), "states": .int(news.states), "parts": .int(parts),
                "status": .text(status), "stated": .text(stated), "id": .text(rest?.id),
                "revision": .text(rest?.revision),
                "others": (rest?.others).map { .strings($0.sorted()) }, "answered": .strings(answered),
                "failures": .object(saidFailures.map { JSON.Member(name: $0.key, value: .string($0.value)) }),
                "purchases": .array(purchases.map(\.named)),
            ]).text
        ]
    }

    // MARK: - The outcome

    private var saysNews: String {
        switch (news.transactions, news.states) {
        case (0, 0): "Nothing that it signed was new."
        case (0, _): "No transaction was new, but how the subscription renews was."
        case (1, _): "1 signed transaction was new."
        default: "\(news.transactions) signed transactions were new."
        }
    }

    /// Of a purchase that Apple knows.
    var ofPurchase: JSON {
        let standing = status.map { " The subscription is \($0.replacing("_", with: " "))." } ?? ""
        return .object([
            "answer": .string("Apple answered. \(saysNews)\(standing)"), "new_transactions": .int(news.transactions),
            "status": status.map { .string($0) },
        ])
    }

    static let unknownPurchase = JSON.object([
        "answer": .string("Apple knows no such transaction of this app and environment; nothing was changed."),
        "new_transactions": .int(0),
    ])

    private var saidFailures: [(key: String, value: String)] { failures.sorted { $0.key < $1.key } }

    /// Why Apple did not answer about apps, in sentences.
    private var saysFailures: String {
        saidFailures.map { "\($0.key): \($0.value)" }.joined(separator: " ")
    }

    /// Of an order, when every app was asked about.
    var ofOrder: ChangeEnding {
        guard !purchases.isEmpty else {
            guard failures.isEmpty else { return .failed("The order was not found. \(saysFailures)") }
            let apps = answered.joined(separator: ", ")
            return .done(
                .object([
                    "answer": .string(
                        "Apple knows no such order of \(apps), or calls it invalid; nothing was changed."),
                    "new_transactions": .int(0), "purchases": .array([]),
                ]))
        }
        let count = purchases.count == 1 ? "1 purchase" : "\(purchases.count) purchases"
        let parts = ["The order is of \(count).", saysNews] + (failures.isEmpty ? [] : [saysFailures])
        return .done(
            .object([
                "answer": .string(parts.joined(separator: " ")), "new_transactions": .int(news.transactions),
                "purchases": .array(purchases.map(\.named)),
            ]))
    }
}
