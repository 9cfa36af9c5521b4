import Synchronization

/// Where the columns of one answer stand, by the addresses of the literals that name them: the first reading of a column compares
/// names, every later one, of whichever row, an address.
///
/// A table with open addresses. `@unchecked Sendable`: a slot is one atomic word that is written once, so threads may read one
/// answer's rows beside each other.
struct ColumnPlaces: ~Copyable, @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Atomic<UInt>>?
    private let mask: UInt

    init(columns: Int) {
        guard columns > 0 else {
            slots = nil
            mask = 0
            return
        }
        var count = 4
        while count < columns * 2 { count *= 2 }
        let slots = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: count)
        for slot in 0..<count { (slots + slot).initialize(to: Atomic(0)) }
        self.slots = slots
        mask = UInt(count - 1)
    }

    deinit {
        slots?.deallocate()
    }

    subscript(_ name: StaticString) -> Int32? {
        @inline(__always) get {
            guard let slots else { return nil }
            let address = UInt(bitPattern: name.utf8Start)
            var slot = ColumnPlaces.start(address) & mask
            for _ in 0..<ColumnPlaces.reach {
                let word = slots[Int(slot)].load(ordering: .relaxed)
                if word >> ColumnPlaces.placeBits == address { return Int32(word & ColumnPlaces.placeMask) }
                if word == 0 { return nil }
                slot = (slot + 1) & mask
            }
            return nil
        }
        nonmutating set {
            // Addresses of a program's data take 48 bits; another one would only be searched for again.
            let address = UInt(bitPattern: name.utf8Start)
            guard let slots, let place = newValue, address >> (UInt(UInt.bitWidth) - ColumnPlaces.placeBits) == 0 else {
                return
            }
            let word = address << ColumnPlaces.placeBits | UInt(place)
            var slot = ColumnPlaces.start(address) & mask
            for _ in 0..<ColumnPlaces.reach {
                let (isTaken, _) = slots[Int(slot)].compareExchange(
                    expected: 0, desired: word, ordering: .relaxed)
                if isTaken { return }
                slot = (slot + 1) & mask
            }
        }
    }

    /// Slots that are looked at before a name is searched for as if it were new.
    private static let reach = 8
    /// An answer has at most 1,664 columns.
    private static let placeBits: UInt = 16
    private static let placeMask: UInt = 0xffff

    /// Spreads addresses, which are near each other and often multiples of 8 or 16.
    @inline(__always)
    private static func start(_ address: UInt) -> UInt {
        (address &* 0x9e37_79b9_7f4a_7c15) >> 40
    }
}
