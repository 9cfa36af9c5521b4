import Glibc

/// Why a test cannot go on.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Waits until the condition holds, by asking often; fails with what was waited for.
///
/// - Parameter what: completes "did not happen within …: "; evaluated only then.
package func eventually(
    timeout: Duration = .seconds(20), _ what: @autoclosure () -> String, _ condition: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + timeout
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw TestFailure("did not happen within \(timeout): \(what())") }
        usleep(5_000)
    }
}
