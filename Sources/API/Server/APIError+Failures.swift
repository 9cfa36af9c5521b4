import Base
import Daemon
import HTTP
import Postgres

extension APIError {
    /// What the caller is told when a call came to this error. Whatever is no refusal goes to the log alone.
    init(failure error: any Error, of request: APIRequest, _ logger: Logger) {
        let trace = request.http.head.traceContext.map { JSON.string($0.trace.text) }
        if let known = APIError(known: error) {
            self = known
        } else if let error = error as? PostgresError, error.isRetryable {
            logger.warning("API request not answered", ["error": .string("\(error)"), "trace_id": trace])
            self = .unavailable("The database is unavailable or busy.")
        } else {
            logger.error(
                "API request failed",
                [
                    "error": .string("\(error)"), "http.method": .string(request.http.head.method), "trace_id": trace,
                ])
            self.init(
                500, code: APIError.internalError,
                "The request failed because of an internal error; the log has the reason.")
        }
    }
}
