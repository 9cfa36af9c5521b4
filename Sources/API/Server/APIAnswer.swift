import Database
import HTTP

/// What an action comes to.
package enum APIAnswer: Sendable {
    case response(HTTPResponse)
    /// Waits, without a connection, until these notifications are applied, and goes on. They are in the database: who
    /// gives up waiting is answered 503, and nothing is lost.
    case whenApplied([LogPosition], then: @Sendable (APICall) throws -> APIAnswer)
    /// Work that may take long and needs no connection, such as asking Apple; then what goes on with one.
    case outside(AppleCallLines.Kind = .question, @Sendable () throws -> @Sendable (APICall) throws -> APIAnswer)
    /// Waits, without a connection, until Apple has said everything of an account, or as long as it may; and goes on.
    case whenLooked(AccountLooks.Request, then: @Sendable (APICall, AccountLooks.Outcome) throws -> APIAnswer)
}
