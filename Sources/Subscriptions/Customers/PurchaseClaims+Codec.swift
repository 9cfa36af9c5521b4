/// Claims as the record of a purchase keeps them. What another form made is refused: then it is made again from the facts.
extension PurchaseClaims {
    /// To be counted up with every change of the members, and of how facts become them.
    private static let form: UInt8 = 2

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(Int64(PurchaseClaims.form))
        writer.write(id: account ?? "")
        writer.write(began)
        writer.write(isConsumable)
        writer.write(wasWithoutToken)
        writer.write(accountKnown)
        writer.write(Int64(tokens.count))
        for token in tokens {
            writer.write(id: token.appUserID)
            writer.write(token.at.subtractingReportingOverflow(began).partialValue)
            writer.write(id: token.transactionID)
            writer.write(token.isRenewal)
        }
        writer.write(Int64(posts.count))
        for post in posts { PurchaseClaims.write(post, &writer) }
        writer.write(Int64(assignments.count))
        for assignment in assignments {
            writer.write(id: assignment.owner)
            writer.write(assignment.at)
            writer.write(assignment.action)
            writer.write(assignment.isFound)
        }
        return writer.bytes
    }

    /// Nil for bytes of another form.
    package init?(bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.integer() == Int64(PurchaseClaims.form), let account = reader.id(), let began = reader.integer(),
            let isConsumable = reader.bool(), let wasWithoutToken = reader.bool(),
            let accountKnown = reader.optionalInteger(),
            let tokens = reader.list({ PurchaseClaims.token(&$0, began: began) }),
            let posts = reader.list({ PurchaseClaims.post(&$0) }),
            let assignments = reader.list({ PurchaseClaims.assignment(&$0) }), reader.isAtEnd
        else { return nil }
        self.init(
            account: account.isEmpty ? nil : account, began: began, isConsumable: isConsumable, tokens: tokens,
            wasWithoutToken: wasWithoutToken, accountKnown: accountKnown, posts: posts, assignments: assignments)
    }

    private static func token(_ reader: inout ByteReader, began: Int64) -> Token? {
        guard let id = reader.id(), let since = reader.integer(), let transaction = reader.id(),
            let isRenewal = reader.bool()
        else { return nil }
        return Token(
            appUserID: id, at: began.addingReportingOverflow(since).partialValue, transactionID: transaction,
            isRenewal: isRenewal)
    }

    private static func write(_ post: PurchasePost, _ writer: inout ByteWriter) {
        writer.write(id: post.appUserID)
        writer.write(post.source.rawValue)
        writer.write(id: post.transactionID ?? "")
        writer.write(post.purchased)
        writer.write(post.isRenewal)
        writer.write(post.isAlone)
        writer.write(post.behavior.rawValue)
        writer.write(post.at)
        writer.write(post.wasNamed.map { $0 ? 1 : 0 })
    }

    private static func post(_ reader: inout ByteReader) -> PurchasePost? {
        guard let id = reader.id(), let source = reader.text().flatMap(PurchasePost.Source.init(rawValue:)),
            let transaction = reader.id(), let purchased = reader.optionalInteger(), let isRenewal = reader.bool(),
            let isAlone = reader.bool(), let behavior = reader.text().flatMap(RestoreBehavior.init(rawValue:)),
            let at = reader.integer(), let wasNamed = reader.optionalInteger()
        else { return nil }
        return PurchasePost(
            by: id, source, transactionID: transaction.isEmpty ? nil : transaction, purchased: purchased,
            isRenewal: isRenewal, isAlone: isAlone, behavior: behavior, at: at, wasNamed: wasNamed.map { $0 == 1 })
    }

    private static func assignment(_ reader: inout ByteReader) -> OwnerAssignment? {
        guard let owner = reader.id(), let at = reader.integer(), let action = reader.integer(),
            let isFound = reader.bool()
        else { return nil }
        return OwnerAssignment(owner: owner, at: at, action: action, isFound: isFound)
    }
}
