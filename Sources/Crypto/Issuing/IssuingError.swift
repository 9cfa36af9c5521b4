import COpenSSL

/// Why a key or a certificate could not be made, read or used for signing. Holds no key material.
package struct IssuingError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(what description: String) {
        self.description = description
    }

    /// Takes the newest reason from OpenSSL's error queue of this thread, and empties the queue.
    init(_ attempt: String) {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code).map { String(cString: $0) }
        description = "OpenSSL did not \(attempt): \(reason ?? "no reason given")"
    }
}
