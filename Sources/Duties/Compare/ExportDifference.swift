import Base

/// One thing in which a row of another system's export and the records here differ.
package struct ExportDifference: Sendable, Equatable {
    package let cause: ComparisonCause
    /// Nil: it is in no row of the file.
    package let line: Int64?
    package let appUserID: String?
    package let originalTransactionID: String?
    package let transactionID: String?
    package let productID: String?
    /// What the other system says, and what is so here.
    package let there: String
    package let here: String

    package static let columns = [
        "app_user_id", "original_transaction_id", "transaction_id", "product_id", "there", "here",
    ]

    package var fields: [String] {
        [appUserID, originalTransactionID, transactionID, productID, there, here].map { $0 ?? "" }
    }

    package var json: JSON {
        .object([
            "line": .integer(line), "app_user_id": .text(appUserID),
            "original_transaction_id": .text(originalTransactionID), "transaction_id": .text(transactionID),
            "product_id": .text(productID), "there": .string(there), "here": .string(here),
        ])
    }
}

/// What came of the rows of a file.
package struct ComparisonCount: Sendable, Equatable {
    package var rows: Int64 = 0
    package var same: Int64 = 0
    /// Rows with a difference; a row may have several.
    package var differing: Int64 = 0
    package var unreadable: Int64 = 0
    package var otherStores: Int64 = 0
    /// Of an environment that the app does not accept data of.
    package var otherEnvironments: Int64 = 0
    /// Purchases here whose newest transaction is newer than everything in the file.
    package var newerHere: Int64 = 0
    package var differences: [ComparisonCause: Int64] = [:]

    package init() {}

    /// Whether everything that could be compared agrees, and everything could.
    package var agrees: Bool { differences.isEmpty && unreadable == 0 }

    package var json: [JSON.Member] {
        JSON.object([
            "rows": .int(rows), "same": .int(same), "differing": .int(differing), "unreadable": .int(unreadable),
            "other_stores": .int(otherStores), "other_environments": .int(otherEnvironments),
            "newer_here": .int(newerHere),
        ]).members ?? []
    }
}
