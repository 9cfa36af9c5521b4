import Base
import CLI
import Database

/// What `endpoints add` and `endpoints update` say about requests: their headers, and when they are tried again.
package struct EndpointRequestOptions: Sendable, Equatable {
    /// The verbatim value of the `authorization` header.
    package let authorization: Redacted<String>?
    package let headers: [CustomHeader]
    /// Nil where none is given, and for `default`.
    package let schedule: RetrySchedule?
    /// Whether the configuration's schedule is asked for.
    package let wantsStandardSchedule: Bool

    /// Throws `UsageError`, which never names a value that may be a secret.
    package init(_ parsed: ParsedArguments) throws {
        authorization = try SecretFile.value("--authorization", parsed).map { Redacted($0) }
        if let value = authorization?.exposed, value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw UsageError("--authorization must not contain control characters")
        }
        if let value = authorization?.exposed, value.utf8.count > CustomHeader.sizeLimit {
            throw UsageError("--authorization must not be longer than \(CustomHeader.sizeLimit) bytes")
        }
        let more = try parsed.text("--header-file").map { try SecretFile.lines($0, of: "--header-file") } ?? []
        headers = try EndpointRequestOptions.headers(parsed.texts("--header") + more)
        let text = parsed.text("--retry-schedule")
        wantsStandardSchedule = text == "default"
        do {
            schedule = wantsStandardSchedule ? nil : try text.map { try RetrySchedule(parsing: $0) }
        } catch {
            throw UsageError("--retry-schedule: \(error)")
        }
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
            throw UsageError("--header: an endpoint has at most \(CustomHeader.limit) headers of its own")
        }
        return headers
    }

    static let declarations = [
        OptionDeclaration("--authorization", .text("VALUE"), "The authorization header, sent as it is."),
        OptionDeclaration(
            "--header", .text("HEADER"), isRepeatable: true,
            "A header for every request, as in 'X-Tenant: demo'. Its value is stored encrypted."),
        OptionDeclaration(
            "--authorization-file", .file,
            "The authorization header from a file, - for standard input: other users of this host see what options hold."
        ),
        OptionDeclaration("--header-file", .file, "Headers from a file, a line each; - for standard input."),
        OptionDeclaration(
            "--retry-schedule", .text("WAITS"),
            "The waits after failed attempts, as in 1h,12h,24h; none: a single attempt;"
                + " default: webhooks.retry_schedule."),
    ]
}
