import Base

/// The values of a command: the properties of its type that are declared with `@Argument`, `@Option`, `@Flag` and
/// `@OptionGroup`, in their order.
///
/// Such a type is made twice. Made as it is, it declares what it takes. Made while `ParsedArguments.current` is set, its
/// properties have the values of that command line.
package protocol ParsableArguments: Sendable {
    init()
}

extension ParsableArguments {
    /// The type with the values of a command line that its declaration accepted.
    package init(reading parsed: ParsedArguments) {
        self = ParsedArguments.$current.withValue(parsed) { Self() }
    }

    /// The declarations of the type's properties.
    package static var inputs: [InputDeclaration] {
        Mirror(reflecting: ParsedArguments.$current.withValue(nil) { Self() }).children.flatMap { child in
            (child.value as? any DeclaredInput)?.inputs ?? []
        }
    }
}

/// One argument or option of a command.
package enum InputDeclaration: Sendable {
    case argument(ArgumentDeclaration)
    case option(OptionDeclaration)
}

/// A property wrapper of a command's type.
protocol DeclaredInput {
    var inputs: [InputDeclaration] { get }
}

/// A switch: true where it is given.
@propertyWrapper
package struct Flag: Sendable, DeclaredInput {
    package let wrappedValue: Bool
    let inputs: [InputDeclaration]

    package init(_ name: String, _ summary: String) {
        self.init(OptionDeclaration(name, summary))
    }

    /// - Parameter shared: a switch that several commands have.
    package init(_ shared: OptionDeclaration) {
        inputs = [.option(shared)]
        wrappedValue = ParsedArguments.current?.has(shared.name) ?? false
    }
}

/// A value that is known by its name. A property that is neither optional nor an array, and has no value to begin with, is
/// an option that the command is refused without.
@propertyWrapper
package struct Option<Value: Sendable>: Sendable, DeclaredInput {
    private let value: Value?
    let inputs: [InputDeclaration]

    package var wrappedValue: Value {
        guard let value else { preconditionFailure("a command that only declares its options was run") }
        return value
    }

    private init(_ declaration: OptionDeclaration, _ value: Value?) {
        inputs = [.option(declaration)]
        self.value = value
    }
}

extension Option where Value: InputValue {
    /// A required option.
    package init(_ name: String, _ kind: ValueKind, _ summary: String) {
        self.init(
            OptionDeclaration(name, kind, isRequired: true, summary), ParsedArguments.current?.value(name, kind))
    }

    /// - Parameter shared: an option that several commands have.
    package init(wrappedValue: Value, _ shared: OptionDeclaration) {
        self.init(
            shared, shared.value.flatMap { ParsedArguments.current?.value(shared.name, $0) } ?? wrappedValue)
    }

    /// An option with a default.
    package init(wrappedValue: Value, _ name: String, _ kind: ValueKind, _ summary: String) {
        self.init(
            OptionDeclaration(name, kind, summary), ParsedArguments.current?.value(name, kind) ?? wrappedValue)
    }
}

extension Option {
    /// An option that may be left out.
    package init<Wrapped: InputValue>(_ name: String, _ kind: ValueKind, _ summary: String) where Value == Wrapped? {
        self.init(OptionDeclaration(name, kind, summary), .some(ParsedArguments.current?.value(name, kind)))
    }

    /// - Parameter shared: an option that several commands have.
    package init<Wrapped: InputValue>(_ shared: OptionDeclaration) where Value == Wrapped? {
        self.init(shared, .some(shared.value.flatMap { ParsedArguments.current?.value(shared.name, $0) }))
    }

    /// An option that may be given repeatedly.
    package init<Element: InputValue>(_ name: String, _ kind: ValueKind, _ summary: String) where Value == [Element] {
        self.init(
            OptionDeclaration(name, kind, isRepeatable: true, summary),
            (ParsedArguments.current?.texts(name) ?? []).compactMap { Element(input: $0, as: kind) })
    }
}

/// A value that is known by its place; optional where the property is.
@propertyWrapper
package struct Argument<Value: Sendable>: Sendable, DeclaredInput {
    private let value: Value?
    let inputs: [InputDeclaration]

    package var wrappedValue: Value {
        guard let value else { preconditionFailure("a command that only declares its arguments was run") }
        return value
    }

    private init(_ declaration: ArgumentDeclaration, _ value: Value?) {
        inputs = [.argument(declaration)]
        self.value = value
    }
}

extension Argument where Value: InputValue {
    package init(_ kind: ValueKind, _ summary: String) {
        self.init(ArgumentDeclaration(kind, summary))
    }

    /// - Parameter shared: an argument that several commands have.
    package init(_ shared: ArgumentDeclaration) {
        self.init(shared, ParsedArguments.current?.value(shared.name, shared.value))
    }
}

extension Argument {
    package init<Wrapped: InputValue>(_ kind: ValueKind, _ summary: String) where Value == Wrapped? {
        self.init(
            ArgumentDeclaration(kind, isOptional: true, summary),
            .some(ParsedArguments.current?.value(kind.placeholder, kind)))
    }
}

/// Options that several commands take.
@propertyWrapper
package struct OptionGroup<Group: ParsableArguments>: Sendable, DeclaredInput {
    package let wrappedValue: Group

    package init() {
        wrappedValue = Group()
    }

    var inputs: [InputDeclaration] { Group.inputs }
}

/// A type that an argument or option can have.
package protocol InputValue: Sendable {
    /// Nil for a text that the kind does not accept.
    init?(input text: String, as kind: ValueKind)
}

extension InputValue where Self: RawRepresentable, RawValue == String {
    package init?(input text: String, as kind: ValueKind) { self.init(rawValue: text) }
}

extension String: InputValue {
    package init?(input text: String, as kind: ValueKind) { self = text }
}

extension Int64: InputValue {
    /// Of a time: milliseconds since 1970.
    package init?(input text: String, as kind: ValueKind) {
        let value = if case .time = kind { Timestamp.parse(text) } else { Int64(text) }
        guard let value else { return nil }
        self = value
    }
}

extension Int: InputValue {
    package init?(input text: String, as kind: ValueKind) {
        guard let value = Int64(text) else { return nil }
        self.init(clamping: value)
    }
}

extension Duration: InputValue {
    package init?(input text: String, as kind: ValueKind) { self.init(text: text) }
}

extension TimeArgument: InputValue {
    package init?(input text: String, as kind: ValueKind) { self.init(text: text) }
}

extension TimeZoneName: InputValue {
    package init?(input text: String, as kind: ValueKind) { self.init(text) }
}

extension StoreEnvironment: InputValue {}

extension ValueKind {
    /// One of the words of a type.
    package static func choice<Value: CaseIterable & RawRepresentable>(
        of type: Value.Type, _ placeholder: String
    ) -> ValueKind where Value.RawValue == String {
        .choice(type.allCases.map(\.rawValue), placeholder)
    }
}

extension ParsedArguments {
    /// The command line that the type of a command is being made from; nil while it declares what it takes.
    @TaskLocal static var current: ParsedArguments?

    fileprivate func value<Value: InputValue>(_ name: String, _ kind: ValueKind) -> Value? {
        text(name).flatMap { Value(input: $0, as: kind) }
    }
}
