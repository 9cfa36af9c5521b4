import Base
import Database
import HTTP
import Postgres
import Synchronization

/// Decides who calls the operator API.
final class OperatorKeys: Sendable {
    /// The minute, in ms since 1970, in which the use of each key was noted last.
    private let noted = Mutex<[String: Int64]>([:])
    /// Keys of which that is remembered.
    private static let remembered = 10_000
    /// A key is shorter; a longer text is none.
    private static let longest = 256

    static let missing = DeskError(
        401, "unauthorized",
        "An operator key is needed: Authorization: Bearer op_…; `entitled users key NAME` makes one.")
    static let invalid = DeskError(401, "unauthorized", "The operator key is unknown, or it has expired.")

    /// The key of a request, before its body is read.
    ///
    /// - Throws: `DeskError`, 401, or 403 of a request from a web page.
    static func key(of head: HTTPRequestHead) throws(DeskError) -> String {
        // A page that a browser shows could only have it from a copy that is where it does not belong.
        guard head.header("origin") == nil else {
            throw DeskError(
                403, "forbidden", "Operator keys are not accepted from web pages: the request has an Origin.")
        }
        let values = head.headers.filter { $0.name == "authorization" }.map(\.value)
        guard let value = values.first, values.count == 1 else { throw missing }
        let parts = value.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw missing }
        let key = String(parts[1])
        guard key.hasPrefix(OperatorKeyTable.prefix), key.utf8.count <= longest else { throw invalid }
        return key
    }

    /// The operator whose key it is, with the id of the key; notes once a minute that it was used.
    ///
    /// - Throws: `DeskError`, 401.
    func caller(
        withKey key: String, now: Int64, on connection: PostgresConnection
    ) throws -> (viewer: Viewer, key: String) {
        guard let caller = try OperatorKeyTable.caller(withKey: key, now: now, on: connection) else {
            throw OperatorKeys.invalid
        }
        let minute = now - now % 60_000
        let isNoted = noted.withLock { noted in
            if noted.count > OperatorKeys.remembered { noted = [:] }
            return noted.updateValue(minute, forKey: caller.key) == minute
        }
        if !isNoted { try OperatorKeyTable.noteUse(of: caller.key, now: now, on: connection) }
        return (Viewer(user: caller.user, role: caller.role, zone: caller.zone), caller.key)
    }
}
