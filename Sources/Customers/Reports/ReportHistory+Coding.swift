/// Histories as bytes: numbers of seven bits a byte, the lowest first; dates by their distance from the one before; texts once.
extension ReportHistory {
    /// Bytes that are no history, or one of a later program.
    package struct Damaged: Error, CustomStringConvertible {
        package var description: String {
            "the stored history of a purchase has a format that this program does not read"
        }
    }

    /// Of the first byte.
    private static let form: UInt8 = 1

    /// Whether this version knows the form of what was kept.
    package static func isReadable(_ bytes: [UInt8]) -> Bool { bytes.first == form }

    package var bytes: [UInt8] {
        var body = Writer()
        body.list(payments) { writer, payment in
            writer.date(payment.at)
            writer.cut(payment.cut)
            writer.integer(payment.milliunits)
            writer.optional(payment.refund) { writer, refund in
                writer.date(refund.at)
                writer.integer(refund.milliunits)
            }
        }
        for moments in [oneTimePurchases, conversions, renewals, upgrades] {
            body.list(moments) { writer, moment in
                writer.date(moment.at)
                writer.cut(moment.cut)
            }
        }
        body.list(trials) { writer, trial in
            writer.date(trial.begins)
            writer.cut(trial.cut)
            writer.optional(trial.converted) { $0.date($1) }
            writer.optional(trial.ends) { $0.date($1) }
        }
        body.list(runs) { writer, run in
            writer.date(run.begins)
            writer.optional(run.ends) { $0.date($1) }
            writer.bytes += [run.entry.rawValue, run.exit.rawValue, run.endsInTrial ? 1 : 0]
        }
        body.list(stretches) { writer, stretch in
            writer.date(stretch.begins)
            writer.optional(stretch.ends) { $0.date($1) }
            writer.bytes.append(stretch.state.rawValue)
            writer.cut(stretch.cut)
            writer.optional(stretch.monthly) { $0.wide($1.parts) }
        }
        var head = Writer()
        head.bytes.append(ReportHistory.form)
        head.list(body.cuts) { writer, cut in
            writer.text(cut.productID)
            writer.optional(cut.currency) { $0.text($1) }
            writer.optional(cut.country) { $0.text($1) }
        }
        return head.bytes + body.bytes
    }

    /// - Throws: `Damaged`.
    package init(bytes: [UInt8]) throws(Damaged) {
        self.init()
        var reader = Reader(bytes: bytes)
        guard try reader.byte() == ReportHistory.form else { throw Damaged() }
        reader.cuts = try reader.list { reader throws(Damaged) in
            Cut(
                productID: try reader.text(), currency: try reader.optional { r throws(Damaged) in try r.text() },
                country: try reader.optional { r throws(Damaged) in try r.text() })
        }
        payments = try reader.list { reader throws(Damaged) in
            Payment(
                at: try reader.date(), cut: try reader.cut(), milliunits: try reader.integer(),
                refund: try reader.optional { r throws(Damaged) in
                    Payment.Refund(at: try r.date(), milliunits: try r.integer())
                })
        }
        oneTimePurchases = try reader.moments()
        conversions = try reader.moments()
        renewals = try reader.moments()
        upgrades = try reader.moments()
        trials = try reader.list { reader throws(Damaged) in
            Trial(
                begins: try reader.date(), cut: try reader.cut(), converted: try reader.optionalDate(),
                ends: try reader.optionalDate())
        }
        runs = try reader.list { reader throws(Damaged) in
            let (begins, ends) = (try reader.date(), try reader.optionalDate())
            guard let entry = Run.Entry(rawValue: try reader.byte()), let exit = Run.Exit(rawValue: try reader.byte())
            else { throw Damaged() }
            return Run(entry: entry, begins: begins, ends: ends, exit: exit, endsInTrial: try reader.byte() == 1)
        }
        stretches = try reader.list { reader throws(Damaged) in
            let (begins, ends) = (try reader.date(), try reader.optionalDate())
            guard let state = Stretch.State(rawValue: try reader.byte()) else { throw Damaged() }
            return Stretch(
                state: state, begins: begins, ends: ends, cut: try reader.cut(),
                monthly: try reader.optional { r throws(Damaged) in MonthlyRevenue(parts: try r.wide()) })
        }
        guard reader.isAtEnd else { throw Damaged() }
    }
}

private struct Writer {
    var bytes: [UInt8] = []
    private(set) var cuts: [ReportHistory.Cut] = []
    private var last: Int64 = 0

    private mutating func number(_ value: UInt128) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// The sign is the lowest bit.
    mutating func wide(_ value: Int128) { number(UInt128(bitPattern: (value << 1) ^ (value >> 127))) }
    mutating func integer(_ value: Int64) { wide(Int128(value)) }

    mutating func date(_ date: Int64) {
        wide(Int128(date) - Int128(last))
        last = date
    }

    mutating func text(_ text: String) {
        number(UInt128(text.utf8.count))
        bytes += text.utf8
    }

    mutating func cut(_ cut: ReportHistory.Cut) {
        let place = cuts.firstIndex(of: cut) ?? cuts.count
        if place == cuts.count { cuts.append(cut) }
        number(UInt128(place))
    }

    mutating func list<Item>(_ items: [Item], _ write: (inout Writer, Item) -> Void) {
        number(UInt128(items.count))
        for item in items { write(&self, item) }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout Writer, Value) -> Void) {
        bytes.append(value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }
}

private struct Reader {
    let bytes: [UInt8]
    var cuts: [ReportHistory.Cut] = []
    private var place = 0
    private var last: Int64 = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    mutating func byte() throws(ReportHistory.Damaged) -> UInt8 {
        guard place < bytes.count else { throw ReportHistory.Damaged() }
        defer { place += 1 }
        return bytes[place]
    }

    /// Of seven bits a byte; nearly all have at most 63.
    private mutating func number() throws(ReportHistory.Damaged) -> UInt128 {
        var (small, shift): (UInt64, UInt64) = (0, 0)
        while shift < 63 {
            let byte = try byte()
            small |= UInt64(byte & 0x7f) << shift
            guard byte >= 0x80 else { return UInt128(small) }
            shift += 7
        }
        var (value, wide) = (UInt128(small), 63)
        while wide < 128 {
            let byte = try byte()
            value |= UInt128(byte & 0x7f) << UInt128(wide)
            guard byte >= 0x80 else { return value }
            wide += 7
        }
        throw ReportHistory.Damaged()
    }

    mutating func wide() throws(ReportHistory.Damaged) -> Int128 {
        let bits = try number()
        return Int128(bitPattern: bits >> 1) ^ -Int128(bitPattern: bits & 1)
    }

    mutating func integer() throws(ReportHistory.Damaged) -> Int64 {
        guard let value = Int64(exactly: try wide()) else { throw ReportHistory.Damaged() }
        return value
    }

    mutating func date() throws(ReportHistory.Damaged) -> Int64 {
        let (sum, overflow) = try wide().addingReportingOverflow(Int128(last))
        guard !overflow, let date = Int64(exactly: sum) else { throw ReportHistory.Damaged() }
        last = date
        return date
    }

    mutating func optionalDate() throws(ReportHistory.Damaged) -> Int64? {
        try optional { reader throws(ReportHistory.Damaged) in try reader.date() }
    }

    private mutating func count() throws(ReportHistory.Damaged) -> Int {
        // Each item has a byte at least.
        guard let count = Int(exactly: try number()), count <= bytes.count - place else {
            throw ReportHistory.Damaged()
        }
        return count
    }

    mutating func text() throws(ReportHistory.Damaged) -> String {
        let count = try count()
        defer { place += count }
        return String(decoding: bytes[place..<place + count], as: UTF8.self)
    }

    mutating func cut() throws(ReportHistory.Damaged) -> ReportHistory.Cut {
        guard let number = Int(exactly: try number()), cuts.indices.contains(number) else {
            throw ReportHistory.Damaged()
        }
        return cuts[number]
    }

    mutating func list<Item>(
        _ read: (inout Reader) throws(ReportHistory.Damaged) -> Item
    ) throws(ReportHistory.Damaged) -> [Item] {
        let count = try count()
        var items: [Item] = []
        items.reserveCapacity(count)
        for _ in 0..<count { items.append(try read(&self)) }
        return items
    }

    mutating func optional<Value>(
        _ read: (inout Reader) throws(ReportHistory.Damaged) -> Value
    ) throws(ReportHistory.Damaged) -> Value? {
        switch try byte() {
        case 0: return nil
        case 1: return try read(&self)
        default: throw ReportHistory.Damaged()
        }
    }

    mutating func moments() throws(ReportHistory.Damaged) -> [ReportHistory.Moment] {
        try list { reader throws(ReportHistory.Damaged) in
            ReportHistory.Moment(at: try reader.date(), cut: try reader.cut())
        }
    }
}
