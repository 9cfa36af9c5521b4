import COpenSSL

/// OpenSSL's queue of errors, one per thread.
enum OpenSSLErrors {
    /// Empties the queue: what one refused input leaves there must not be read as the cause of a later failure.
    static func drain() {
        ERR_clear_error()
    }
}
