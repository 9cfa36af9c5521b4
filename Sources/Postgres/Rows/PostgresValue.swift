/// A parameter of a statement, sent in Postgres' binary format with its type.
///
/// A nil inside a case is a NULL of that type; `null` is one whose type the server infers.
package enum PostgresValue: Sendable, Equatable {
    case null
    case bool(Bool?)
    case int2(Int16?)
    case int4(Int32?)
    case int8(Int64?)
    case float8(Double?)
    /// UTF-8; must not contain U+0000, which Postgres cannot store.
    case text(String?)
    case bytea([UInt8]?)
    /// Exactly 16 bytes.
    case uuid([UInt8]?)
    /// JSON text, as `jsonb`.
    case jsonb([UInt8]?)
    /// `timestamptz`, in milliseconds since 1970-01-01 UTC.
    case timestamp(Int64?)

    case bools([Bool?])
    case int2s([Int16?])
    case int4s([Int32?])
    case int8s([Int64?])
    case texts([String?])
    case byteas([[UInt8]?])
    case uuids([[UInt8]?])
    /// `timestamptz[]`, in milliseconds since 1970-01-01 UTC.
    case timestamps([Int64?])
}

/// A statement with its parameters `$1`, `$2`, …
package struct PostgresStatement: Sendable {
    package let sql: String
    package let parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// Object ids of the built-in types (`pg_type.dat`); they never change.
enum PostgresType {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let char: UInt32 = 18
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let unknown: UInt32 = 705
    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let int2Array: UInt32 = 1005
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let bpchar: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let timestamptzArray: UInt32 = 1185
    static let uuid: UInt32 = 2950
    static let uuidArray: UInt32 = 2951
    static let jsonb: UInt32 = 3802

    static let texts: Set<UInt32> = [text, varchar, bpchar, name, char, json, unknown]

    /// From 1970-01-01 to 2000-01-01, where Postgres begins to count.
    static let epochMilliseconds: Int64 = 946_684_800_000
}
