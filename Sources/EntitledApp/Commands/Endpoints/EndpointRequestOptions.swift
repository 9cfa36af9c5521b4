import Base
import CLI
import Database

/// The options of `endpoints add` and `endpoints update` about requests: their headers, and when they are tried again.
struct EndpointRequestOptions: ParsableArguments {
    @Option("--authorization", .text("VALUE"), "Authorization header, sent as it is.")
    private var authorization: String?
    @Option(
        "--header", .text("HEADER"),
        "Add a header to every request, as in 'X-Tenant: demo'; its value is stored encrypted.")
    private var headers: [String]
    @Option(
        "--authorization-file", .file,
        "Read the authorization header from a file, - for standard input, because other users of this host can see options."
    )
    private var authorizationFile: String?
    @Option("--header-file", .file, "Read headers from a file, one per line; - for standard input.")
    private var headerFile: String?
    @Option(
        "--retry-schedule", .text("WAITS"),
        "Waits after failed attempts, as in 1h,12h,24h; none: a single attempt; default: webhooks.retry_schedule.")
    private var schedule: String?

    var hasAuthorization: Bool { authorization != nil || authorizationFile != nil }
    var isEmpty: Bool { !hasAuthorization && headers.isEmpty && headerFile == nil && schedule == nil }

    /// Reads the files.
    ///
    /// - Throws: `UsageError`, which never names a value that may be a secret.
    func values() throws -> EndpointRequestValues {
        let authorization = try SecretFile.value("--authorization", authorization, file: authorizationFile)
        if let authorization, authorization.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw UsageError("--authorization must not contain control characters")
        }
        if let authorization, authorization.utf8.count > CustomHeader.sizeLimit {
            throw UsageError("--authorization must not be longer than \(CustomHeader.sizeLimit) bytes")
        }
        let more = try headerFile.map { try SecretFile.lines($0, of: "--header-file") } ?? []
        var values = EndpointRequestValues()
        values.authorization = authorization.map { Redacted($0) }
        values.headers = try EndpointRequestOptions.headers(headers + more)
        values.wantsStandardSchedule = schedule == "default"
        do {
            values.schedule = values.wantsStandardSchedule ? nil : try schedule.map { try RetrySchedule(parsing: $0) }
        } catch {
            throw UsageError("--retry-schedule: \(error)")
        }
        return values
    }

    private static func headers(_ texts: [String]) throws(UsageError) -> [CustomHeader] {
        var headers: [CustomHeader] = []
        for text in texts {
            let header: CustomHeader
            do {
                header = try CustomHeader(parsing: text)
            } catch {
                throw UsageError("--header: \(error)")
            }
            guard !headers.contains(where: { $0.isNamed(header.name) }) else {
                throw UsageError("--header: \(header.name) is given twice")
            }
            headers.append(header)
        }
        guard headers.count <= CustomHeader.limit else {
            throw UsageError("--header: an endpoint can have at most \(CustomHeader.limit) headers of its own")
        }
        return headers
    }
}

/// How an endpoint's requests are made.
struct EndpointRequestValues: Sendable, Equatable {
    /// The verbatim value of the `authorization` header.
    var authorization: Redacted<String>?
    var headers: [CustomHeader] = []
    /// Nil where none is given, and for `default`.
    var schedule: RetrySchedule?
    /// Whether the configuration's schedule is asked for.
    var wantsStandardSchedule = false
}
