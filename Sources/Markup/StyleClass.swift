/// The classes that elements may have; the style sheet has a rule for each and for no other.
package enum StyleClass: String, Sendable, CaseIterable {
    // The frame.
    case skip, bar, brand, menu, find, account, content, narrow, foot
    case switcher
    // What a page is made of.
    case lead, card, cards, figure, facts, good, warn, bad, quiet, badge, empty, notice, columns
    case steps, step, chips, chip, why, path
    // Tables.
    case wide, number, more
    // Values.
    case id, unseen, json, raw, masked
    case jsonName = "json-name"
    case jsonText = "json-text"
    case jsonNumber = "json-number"
    // Forms.
    case form, filters, field, button, link
}
