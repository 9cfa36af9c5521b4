/// A secret that no log line, error or description shows.
package struct Redacted<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package let exposed: Value

    package init(_ value: Value) {
        exposed = value
    }

    package var description: String { "[redacted]" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
