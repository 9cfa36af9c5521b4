/// A system call that failed.
package struct HTTPClientError: Error, Sendable, CustomStringConvertible {
    package let call: String
    /// errno.
    package let number: Int32

    package var description: String { "\(call): error \(number)" }
}
