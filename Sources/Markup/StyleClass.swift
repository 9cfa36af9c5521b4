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
    // Charts.
    case plot, axis, grid, base, curve, dot, block, fill
    case toneA = "tone-a"
    case toneB = "tone-b"
    case toneC = "tone-c"
    case toneD = "tone-d"
    case toneE = "tone-e"
    case toneF = "tone-f"
    case toneG = "tone-g"
    case toneH = "tone-h"
    // Forms.
    case form, filters, field, button, link
}
