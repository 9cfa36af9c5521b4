/// A JSON object in the spelling that Apple and this program write: ASCII without white space, strings without escapes, whole numbers
/// of at most 18 digits, each name once. Every other spelling is for a JSON library to read, with the same result (`Members`); this one
/// takes about a thirtieth of its time, which is a fifth of what applying a notification costs.
struct PlainObject: Sendable {
    private enum Kind: Sendable {
        case text, integer, null, list, object
        case flag(Bool)
    }

    /// A member of an object, or an element of a list, which has no name.
    private struct Member: Sendable {
        let name: Range<Int>
        let kind: Kind
        /// Of a string, what is between its quotes.
        let value: Range<Int>
        /// Behind it and all that lies in it, in `members`.
        var next: Int
    }

    private let bytes: [UInt8]
    /// Of the whole text, each before what lies in it.
    private let members: [Member]
    /// Those of this object, and what lies in them.
    private let own: Range<Int>

    /// Nil for a text in any other spelling, be it JSON or not.
    init?(_ bytes: [UInt8]) {
        var reader = bytes.withUnsafeBufferPointer { text in
            var reader = Reader(text: text)
            reader.read()
            return reader
        }
        guard let members = reader.take() else { return nil }
        (self.bytes, self.members, own) = (bytes, members, members.indices)
    }

    private init(of object: PlainObject, at place: Int) {
        (bytes, members, own) = (object.bytes, object.members, place + 1..<object.members[place].next)
    }

    /// In the order of the text.
    var names: [String] { places.map { string(members[$0].name) } }

    /// Whether it is there and not null.
    func isThere(_ name: String) -> Bool {
        guard let place = place(of: name) else { return false }
        if case .null = members[place].kind { return false }
        return true
    }

    func text(_ name: String) -> String? { place(of: name).flatMap(text(at:)) }

    func flag(_ name: String) -> Bool? {
        guard let place = place(of: name), case .flag(let isTrue) = members[place].kind else { return nil }
        return isTrue
    }

    func integer(_ name: String) -> Int64? {
        guard let place = place(of: name), case .integer = members[place].kind else { return nil }
        let digits = bytes[members[place].value]
        let isNegative = digits.first == UInt8(ascii: "-")
        let value = digits.dropFirst(isNegative ? 1 : 0).reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return isNegative ? -value : value
    }

    func object(_ name: String) -> PlainObject? { place(of: name).flatMap(object(at:)) }

    /// A list of strings; nil too if one of its elements is none.
    func texts(_ name: String) -> [String]? { list(name, of: text(at:)) }

    /// A list of objects; nil too if one of its elements is none.
    func objects(_ name: String) -> [PlainObject]? { list(name, of: object(at:)) }

    private func list<Element>(_ name: String, of element: (Int) -> Element?) -> [Element]? {
        guard let place = place(of: name), case .list = members[place].kind else { return nil }
        let places = PlainObject(of: self, at: place).places
        let elements = places.compactMap(element)
        return elements.count == places.count ? elements : nil
    }

    private func text(at place: Int) -> String? {
        guard case .text = members[place].kind else { return nil }
        return string(members[place].value)
    }

    private func object(at place: Int) -> PlainObject? {
        guard case .object = members[place].kind else { return nil }
        return PlainObject(of: self, at: place)
    }

    private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private var places: [Int] {
        var places: [Int] = []
        var place = own.lowerBound
        while place < own.upperBound {
            places.append(place)
            place = members[place].next
        }
        return places
    }

    private func place(of name: String) -> Int? {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                members.withUnsafeBufferPointer { members in
                    var place = own.lowerBound
                    while place < own.upperBound {
                        let range = members[place].name
                        if range.count == name.count, name.elementsEqual(UnsafeBufferPointer(rebasing: bytes[range])) {
                            return place
                        }
                        place = members[place].next
                    }
                    return nil
                }
            }
        }
    }

    /// Reads a text from its start to its end, or up to what is not plain.
    private struct Reader {
        /// Objects and lists in each other. Apple's have three.
        private static let deepest = 8
        /// Of one object. Names are compared with each other, and what has more is no payload of Apple's.
        private static let mostMembers = 128

        private let text: UnsafeBufferPointer<UInt8>
        private var place = 0
        private var members: [Member] = []
        private var isPlain = true

        init(text: UnsafeBufferPointer<UInt8>) {
            self.text = text
            members.reserveCapacity(48)
        }

        /// What was read; nil: it was not plain.
        mutating func take() -> [Member]? { isPlain ? members : nil }

        mutating func read() {
            isPlain = skip("{") && readMembers(depth: 1) && place == text.count
        }

        private var next: UInt8? { place < text.count ? text[place] : nil }

        private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: byte) else { return false }
            place += 1
            return true
        }

        private mutating func skip(word: StaticString) -> Bool {
            let length = word.utf8CodeUnitCount
            guard text.count - place >= length,
                UnsafeBufferPointer(start: word.utf8Start, count: length)
                    .elementsEqual(UnsafeBufferPointer(rebasing: text[place..<place + length]))
            else { return false }
            place += length
            return true
        }

        /// From behind the opening brace to behind the closing one.
        private mutating func readMembers(depth: Int) -> Bool {
            if skip("}") { return true }
            let first = members.count
            var count = 0
            repeat {
                count += 1
                guard count <= Reader.mostMembers, skip("\""), let name = readString(), isNew(name, since: first),
                    skip(":"),
                    readValue(named: name, depth: depth)
                else { return false }
            } while skip(",")
            return skip("}")
        }

        /// From behind the opening bracket to behind the closing one.
        private mutating func readElements(depth: Int) -> Bool {
            if skip("]") { return true }
            repeat {
                guard readValue(named: place..<place, depth: depth) else { return false }
            } while skip(",")
            return skip("]")
        }

        private func isNew(_ name: Range<Int>, since first: Int) -> Bool {
            var other = first
            while other < members.count {
                let range = members[other].name
                if range.count == name.count,
                    UnsafeBufferPointer(rebasing: text[range]).elementsEqual(UnsafeBufferPointer(rebasing: text[name]))
                {
                    return false
                }
                other = members[other].next
            }
            return true
        }

        private mutating func readValue(named name: Range<Int>, depth: Int) -> Bool {
            guard let first = next else { return false }
            let start = place
            switch first {
            case UInt8(ascii: "\""):
                place += 1
                guard let value = readString() else { return false }
                append(name, .text, value)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard readInteger() else { return false }
                append(name, .integer, start..<place)
            case UInt8(ascii: "t"):
                guard skip(word: "true") else { return false }
                append(name, .flag(true), start..<place)
            case UInt8(ascii: "f"):
                guard skip(word: "false") else { return false }
                append(name, .flag(false), start..<place)
            case UInt8(ascii: "n"):
                guard skip(word: "null") else { return false }
                append(name, .null, start..<place)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < Reader.deepest else { return false }
                place += 1
                let (isObject, index) = (first == UInt8(ascii: "{"), members.count)
                append(name, isObject ? .object : .list, start..<start)
                guard isObject ? readMembers(depth: depth + 1) : readElements(depth: depth + 1) else { return false }
                members[index].next = members.count
            default: return false
            }
            return true
        }

        private mutating func append(_ name: Range<Int>, _ kind: Kind, _ value: Range<Int>) {
            members.append(Member(name: name, kind: kind, value: value, next: members.count + 1))
        }

        /// From behind the opening quote to behind the closing one.
        private mutating func readString() -> Range<Int>? {
            let start = place
            place += PlainText.length(of: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[place...]))
            let end = place
            return skip("\"") ? start..<end : nil
        }

        /// A sign and 1 to 18 digits without zeros before them, which every reader takes for the same number. Behind them comes a comma or
        /// a bracket: a fraction and an exponent end the reading there.
        private mutating func readInteger() -> Bool {
            let isNegative = skip("-")
            let start = place
            while let digit = next, digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") { place += 1 }
            let length = place - start
            return (1...18).contains(length) && (text[start] != UInt8(ascii: "0") || length == 1 && !isNegative)
        }
    }
}

/// ASCII that means itself within a JSON string: no control characters, quotes and backslashes.
enum PlainText {
    /// How many such bytes there are at the start; eight are looked at at a time.
    static func length(of bytes: UnsafeRawBufferPointer) -> Int {
        let (ones, tops) = (UInt64(0x0101_0101_0101_0101), UInt64(0x8080_8080_8080_8080))
        var length = 0
        while length + 8 <= bytes.count {
            let eight = bytes.loadUnaligned(fromByteOffset: length, as: UInt64.self)
            let (quote, backslash) = (eight ^ (ones &* 0x22), eight ^ (ones &* 0x5c))
            // In a byte's top bit: whether it, or a difference that must not be zero, fell below.
            guard (eight | (eight &- ones &* 0x20) | (quote &- ones) | (backslash &- ones)) & tops == 0 else { break }
            length += 8
        }
        while length < bytes.count, bytes[length] >= 0x20, bytes[length] < 0x80, bytes[length] != 0x22,
            bytes[length] != 0x5c
        {
            length += 1
        }
        return length
    }
}
