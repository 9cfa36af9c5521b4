import Base
import Postgres
import Subscriptions

/// Keys of purchases as a statement takes them: arrays that it makes rows of, `t(lane, otid, app, environment)`.
package struct PurchaseKeys {
    private let keys: [PurchaseKey]

    package init(_ keys: some Sequence<PurchaseKey>) {
        self.keys = Array(keys)
    }

    /// What is selected from, for keys that are the first parameters.
    package static let unnest = unnest()

    /// - Parameters:
    ///   - columns: further columns, whose arrays follow those of the keys: `owner text`.
    ///   - first: the number of the first parameter.
    ///   - isNumbered: whether `place` follows, the number of the row from 1.
    package static func unnest(_ columns: String..., from first: Int = 1, isNumbered: Bool = false) -> String {
        let named = (["lane int2", "otid text", "app text", "environment int2"] + columns).map { column in
            column.split(separator: " ")
        }
        let arrays = named.enumerated().map { "$\(first + $0)::\($1.last ?? "")[]" }
        let names = named.map { String($0.first ?? "") } + (isNumbered ? ["place"] : [])
        return "unnest(\(arrays.joined(separator: ", ")))\(isNumbered ? " WITH ORDINALITY" : "")"
            + " AS t(\(names.joined(separator: ", ")))"
    }

    /// That a row of a table is of the purchase of a row of `t`.
    ///
    /// - Parameters:
    ///   - row: the table's name in the statement.
    ///   - first: the number of the parameter with the lanes.
    package static func equal(_ row: String, from first: Int = 1) -> String {
        """
        \(row).lane = t.lane /* cluster: AND \(row).lane = ANY($\(first)::int2[]) */
            AND \(row).original_transaction_id = t.otid AND \(row).app = t.app
            AND \(row).environment = t.environment
        """
    }

    /// The arrays of the keys.
    package var parameters: [PostgresValue] {
        [
            .int2s(keys.map(\.lane.number)), .texts(keys.map(\.originalTransactionID)), .texts(keys.map(\.app)),
            .int2s(keys.map(\.environment.code)),
        ]
    }

    /// The same and each key's index, for `unnest("place int4")`.
    package var placed: [PostgresValue] { parameters + [.int4s((0..<Int32(clamping: keys.count)).map { $0 })] }

    /// The same arrays in the order of the tables' columns: lane, app, environment, id.
    package var columns: [PostgresValue] {
        [
            .int2s(keys.map(\.lane.number)), .texts(keys.map(\.app)), .int2s(keys.map(\.environment.code)),
            .texts(keys.map(\.originalTransactionID)),
        ]
    }
}
