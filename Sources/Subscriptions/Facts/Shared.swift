/// A value of many members that its copies share until one of them is changed: copying it costs one reference, and comparing
/// copies costs nothing.
@usableFromInline
package struct Shared<Value: Hashable & Sendable>: Sendable {
    /// `@unchecked Sendable`: it changes only while one `Shared` refers to it (`isKnownUniquelyReferenced`), so that no other
    /// thread can read it then; while there are more, it does not change.
    @usableFromInline
    final class Box: @unchecked Sendable {
        // Only the one `Shared` that refers to it changes it, and exclusive access to that one is enforced.
        @usableFromInline @exclusivity(unchecked) var value: Value

        @usableFromInline
        init(_ value: Value) {
            self.value = value
        }
    }

    @usableFromInline var box: Box

    init(_ value: Value) {
        box = Box(value)
    }

    @inlinable var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

extension Shared: Hashable {
    @usableFromInline
    package static func == (left: Shared, right: Shared) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        hasher.combine(box.value)
    }
}
