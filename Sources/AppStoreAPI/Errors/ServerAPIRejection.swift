import AppStore

/// An answer of Apple's that says no, with a code.
package struct ServerAPIRejection: Sendable, Equatable {
    /// Of HTTP.
    package let status: Int
    /// As it came, also where it is in no document; nil where the answer has none.
    package let rawCode: Int64?
    /// Apple's words.
    package let message: String?

    /// Nil for a code that is not known.
    package var code: ServerAPIErrorCode? { rawCode.flatMap(ServerAPIErrorCode.init) }

    /// Whether the same request may succeed a little later. A code that is not known counts as its status does.
    package var isRetryable: Bool { code?.isRetryable ?? (status >= 500 || status == 429) }

    package init(status: Int, rawCode: Int64? = nil, message: String? = nil) {
        self.status = status
        self.rawCode = rawCode
        self.message = message
    }

    /// What a body says: `{"errorCode":4040010,"errorMessage":"Transaction id not found."}`.
    init(status: Int, body: [UInt8]) {
        let members = Body(payload: body)
        self.init(status: status, rawCode: members?.code, message: members?.message)
    }

    private struct Body: WirePayload {
        let code: Int64?
        let message: String?

        init(_ members: Members) {
            code = members.integer("errorCode")
            message = members.text("errorMessage")
        }
    }
}

extension ServerAPIRejection: CustomStringConvertible {
    package var description: String {
        let said = code?.meaning ?? message.map { String($0.prefix(200)) } ?? "HTTP status \(status)"
        return rawCode.map { "\(said) (\($0))" } ?? said
    }
}
