/// Why a connection gave no answer, in words for people.
package struct NetworkFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
