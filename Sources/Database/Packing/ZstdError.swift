/// What zstd says against some bytes.
package struct ZstdError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String

    package init(message: String) {
        self.message = message
    }

    package var description: String { "zstd: \(message)" }
}
