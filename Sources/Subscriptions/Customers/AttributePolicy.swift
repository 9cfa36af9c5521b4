import Base

/// Which attributes of a customer may be written, and what then is kept (RevenueCat: Customer Attributes). Pure.
package enum AttributePolicy {
    /// Of custom keys of one customer; deleted ones do not count.
    package static let mostKeys = 50
    /// In characters.
    static let longestKey = 40
    static let longestValue = 500
    /// Deleted custom keys of one id that are remembered, so that an older write does not bring them back.
    static let mostForgotten = 50

    /// Why one key was not taken.
    package struct Fault: Sendable, Equatable {
        package let key: String
        package let message: String

        package init(key: String, message: String) {
            self.key = key
            self.message = message
        }

        /// As in `attribute_errors`.
        package var json: JSON { .object(["key_name": .string(key), "message": .string(message)]) }
    }

    /// What comes of a body.
    package struct Decision: Sendable, Equatable {
        package var writes: [String: AttributeValue] = [:]
        /// By key.
        package var faults: [Fault] = []
        /// Keys that were deleted so long ago that the deletion need not be kept.
        package var forgotten: [String] = []
    }

    // MARK: - Keys

    /// Keys with a meaning; others may not begin with a dollar sign.
    static let reserved: Set<String> = [
        "$displayName", "$email", "$phoneNumber", "$apnsTokens", "$fcmTokens", "$attConsentStatus", "$idfa", "$idfv",
        "$gpsAdId", "$androidId", "$amazonAdId", "$ip", "$deviceVersion", "$adjustId", "$amplitudeDeviceId",
        "$amplitudeUserId", "$appsflyerId", "$brazeAliasName", "$brazeAliasLabel", "$fbAnonId", "$mparticleId",
        "$onesignalId", "$onesignalUserId", "$airshipChannelId", "$iterableUserId", "$iterableCampaignId",
        "$iterableTemplateId",
        "$firebaseAppInstanceId", "$mixpanelDistinctId", "$kochavaDeviceId", "$tenjinId", "$clevertapId",
        "$posthogUserId", "$customerioId", "$mediaSource", "$campaign", "$adGroup", "$ad", "$keyword", "$creative",
        "$appleRefundHandlingPreference",
    ]

    /// Where a customer came from, and on which device: the first word stays.
    private static let writtenOnce: Set<String> = [
        "$idfa", "$idfv", "$gpsAdId", "$ip", "$mediaSource", "$campaign", "$adGroup", "$ad", "$keyword", "$creative",
    ]

    static func isWrittenOnce(_ key: String) -> Bool { writtenOnce.contains(key) }

    static func isReserved(_ key: String) -> Bool { key.hasPrefix("$") }

    /// Why nothing can be written under this key; nil: it can.
    static func objection(toKey key: String) -> String? {
        if isReserved(key) { return reserved.contains(key) ? nil : "Key name is reserved." }
        guard let first = key.utf8.first, isLetter(first),
            key.utf8.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x5f })
        else { return "Key name format is not valid." }
        return key.utf8.count > longestKey ? "Key name is too long." : nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte & ~0x20) }

    // MARK: - Values

    /// Why this cannot be written under a key that can be; nil: it can.
    static func objection(to value: String, of key: String) -> String? {
        // One character may be made of any number of marks.
        if value.count > longestValue || value.utf8.count > 4 * longestValue { return "Value is too long." }
        if value.utf8.contains(0) { return "Value is not valid." }
        if key == "$email", !isAddress(value) { return "Value is not a valid email address." }
        return nil
    }

    /// Only what can be no address at all is refused.
    private static func isAddress(_ text: String) -> Bool {
        guard !text.contains(where: \.isWhitespace), let at = text.lastIndex(of: "@"), at != text.startIndex else {
            return false
        }
        let domain = text[text.index(after: at)...]
        return domain.split(separator: ".", omittingEmptySubsequences: false).count > 1 && !domain.hasPrefix(".")
            && !domain.hasSuffix(".") && !domain.contains("..")
    }

    // MARK: - Deciding

    /// One attribute of a body: what is to be written, or why it is not.
    private static func read(
        _ key: String, _ json: JSON, now: Int64
    ) -> (value: AttributeValue?, objection: String?) {
        if let objection = objection(toKey: key) { return (nil, objection) }
        guard json.members != nil else { return (nil, "Value is not valid.") }
        var updated = now
        switch json["updated_at_ms"] {
        case nil, .null: break
        // A clock that is ahead must not keep later writes out.
        case .int(let time) where time >= 0: updated = min(time, now)
        case .double(let time):
            guard time >= 0, let time = Int64(exactly: time.rounded()) else {
                return (nil, "updated_at_ms is not valid.")
            }
            updated = min(time, now)
        default: return (nil, "updated_at_ms is not valid.")
        }
        switch json["value"] {
        case .null, .string(""): return (AttributeValue(value: nil, updated: updated), nil)
        case .string(let text):
            if let objection = objection(to: text, of: key) { return (nil, objection) }
            return (AttributeValue(value: text, updated: updated), nil)
        default: return (nil, "Value is not valid.")
        }
    }

    /// - Parameters:
    ///   - attributes: `{key: {"value", "updated_at_ms"}}`, as an app sent it.
    ///   - known: of all ids of the customer.
    ///   - own: of the id that is written under.
    ///   - now: ms since 1970; also where a body has no time.
    /// - Returns: nil where this is no such object.
    package static func decide(
        _ attributes: JSON, known: CustomerAttributes, own: CustomerAttributes, now: Int64
    ) -> Decision? {
        guard let members = attributes.members else { return nil }
        var decision = Decision()
        var wanted: [(key: String, value: AttributeValue)] = []
        for member in members.sorted(by: { $0.name < $1.name }) {
            let (value, objection) = read(member.name, member.value, now: now)
            if let objection { decision.faults.append(Fault(key: member.name, message: objection)) }
            if let value { wanted.append((member.name, value)) }
        }
        var custom = Set(known.live.keys.filter { !isReserved($0) })
        // What is deleted makes room.
        for (key, value) in wanted.filter({ $0.value.value == nil }) + wanted.filter({ $0.value.value != nil }) {
            guard isNews(value, of: key, known) else { continue }
            if !isReserved(key) {
                guard value.value == nil || custom.contains(key) || custom.count < mostKeys else {
                    decision.faults.append(
                        Fault(key: key, message: "A customer has at most \(mostKeys) custom attributes."))
                    continue
                }
                if value.value == nil { custom.remove(key) } else { custom.insert(key) }
            }
            decision.writes[key] = value
        }
        decision.faults.sort { $0.key < $1.key }
        decision.forgotten = forgotten(own, decision.writes)
        return decision
    }

    /// Whether a write says more than what is known. What is written once and set stays, and is not deleted.
    private static func isNews(_ new: AttributeValue, of key: String, _ known: CustomerAttributes) -> Bool {
        let former = known.all[key]
        if isWrittenOnce(key) { return new.value != nil && former?.value == nil }
        guard let former else { return true }
        return (former.updated, former.value ?? "") < (new.updated, new.value ?? "")
    }

    private static func forgotten(_ own: CustomerAttributes, _ writes: [String: AttributeValue]) -> [String] {
        let deleted = own.all.merging(writes) { $1 }.filter { $0.value.value == nil && !isReserved($0.key) }
        let oldest = deleted.sorted { ($0.value.updated, $0.key) < ($1.value.updated, $1.key) }
        return oldest.prefix(max(0, oldest.count - mostForgotten)).map(\.key).sorted()
    }
}
