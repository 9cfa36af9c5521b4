/// Facts as the database keeps them beside the log, so that a purchase need not be read from its beginning each time.
///
/// What another form made is refused: then it is made again from the log. Grants are not kept: theirs are few.
extension PurchaseFacts {
    /// To be counted up with every change of the members of facts, and of what `PurchaseFacts` leaves out.
    private static let form: Int64 = 1

    /// Nil where one of the facts has no form: a grant.
    package var bytes: [UInt8]? {
        guard !transactions.firsts.contains(where: { $0.grant != nil }) else { return nil }
        var body = FactWriter()
        let contested = Contested(self)
        let ordered = transactions.contents.sorted { $0.first.isSigned(before: $1.first) }
        body.writer.write(Int64(ordered.count))
        for content in ordered {
            body.write(content.first)
            body.write(content, isContested: contested.transactions)
        }
        let renewals = renewals.contents.sorted { $0.first.isSigned(before: $1.first) }
        body.writer.write(Int64(renewals.count))
        for content in renewals {
            body.write(content.first)
            body.write(content, isContested: contested.renewals)
        }
        let notifications = notifications.sorted { ($0.signedDate, $0.uuid) < ($1.signedDate, $1.uuid) }
        body.writer.write(Int64(notifications.count))
        for fact in notifications { body.write(fact) }
        body.writer.write(Int64(contexts.count))
        for context in contexts { body.write(context) }
        // Posts and assignments have the form of claims already.
        body.writer.write(said.bytes)
        var all = ByteWriter()
        all.write(PurchaseFacts.form)
        all.write(Int64(body.texts.count))
        for text in body.texts { all.write(id: text) }
        all.write(body.writer.bytes)
        return all.bytes
    }

    private var said: PurchaseClaims {
        PurchaseClaims(
            account: nil, began: 0, isConsumable: false, tokens: [], wasWithoutToken: false, accountKnown: nil,
            posts: posts.sorted { $0.precedes($1) },
            assignments: assignments.sorted { ($0.action, $0.at, $0.owner) < ($1.action, $1.at, $1.owner) })
    }

    /// Nil for bytes of another form.
    package init?(bytes: [UInt8]) {
        var all = ByteReader(bytes)
        guard all.integer() == PurchaseFacts.form, let texts = all.list({ $0.id() }), let body = all.bytes(),
            all.isAtEnd
        else { return nil }
        var reader = FactReader(body, texts)
        self.init()
        guard reader.list({ $0.transaction().map { insert($0) } }) != nil,
            reader.list({ $0.renewal().map { insert($0) } }) != nil,
            reader.list({ $0.notification().map { insert($0) } }) != nil,
            reader.list({ $0.context().map { insert($0) } }) != nil,
            let said = reader.bytes().flatMap(PurchaseClaims.init(bytes:)), reader.isAtEnd
        else { return nil }
        for post in said.posts { insert(post) }
        for assignment in said.assignments { insert(assignment) }
    }
}

/// Where different contents were signed in the same millisecond: there the signed bytes decide, and have to be kept.
private struct Contested {
    private var transactionDates: [Signing: Int] = [:]
    private var renewalDates: [Int64: Int] = [:]

    private struct Signing: Hashable {
        let transactionID: String
        let signed: Int64
    }

    init(_ facts: PurchaseFacts) {
        for fact in facts.transactions {
            transactionDates[Signing(transactionID: fact.transactionID, signed: fact.signedDate), default: 0] += 1
        }
        for fact in facts.renewals { renewalDates[fact.signedDate, default: 0] += 1 }
    }

    func transactions(_ fact: TransactionFact) -> Bool {
        transactionDates[Signing(transactionID: fact.transactionID, signed: fact.signedDate)] ?? 0 > 1
    }

    func renewals(_ fact: RenewalFact) -> Bool { renewalDates[fact.signedDate] ?? 0 > 1 }
}
