import Base

/// An attribute that elements may have. Its name is one of those below; there is no `style` and no `on…`.
package struct Attribute: Sendable, Equatable {
    let name: String
    /// Nil: the name says everything, as `required` does.
    let value: String?

    init(_ name: StaticString, _ value: String?) {
        self.name = "\(name)"
        self.value = value
    }

    package static func classes(_ classes: StyleClass...) -> Attribute {
        Attribute("class", classes.map(\.rawValue).joined(separator: " "))
    }

    // MARK: - Where it leads

    /// A page of this server.
    package static func href(_ path: LocalPath) -> Attribute { Attribute("href", path.text) }
    /// A place on the same page.
    package static func href(place: ElementID) -> Attribute { Attribute("href", "#" + place.rawValue) }
    static func href(address: ExternalAddress) -> Attribute { Attribute("href", address.text) }
    static let noReferrer = Attribute("rel", "noopener noreferrer")
    package static let stylesheet = Attribute("rel", "stylesheet")
    package static let icon = Attribute("rel", "icon")
    package static func action(_ path: LocalPath) -> Attribute { Attribute("action", path.text) }
    package static let post = Attribute("method", "post")
    package static let get = Attribute("method", "get")

    // MARK: - What it is

    package static func id(_ id: ElementID) -> Attribute { Attribute("id", id.rawValue) }
    package static func lang(_ language: StaticString) -> Attribute { Attribute("lang", "\(language)") }
    /// The text that appears beside a pointer; what cannot be seen in it is written as `⟨U+202E⟩`.
    package static func title(_ text: String) -> Attribute { Attribute("title", Unseen.shown(text)) }
    package static func datetime(_ text: String) -> Attribute { Attribute("datetime", text) }
    package static func scope(_ scope: TableScope) -> Attribute { Attribute("scope", scope.rawValue) }
    package static func columns(_ count: Int) -> Attribute { Attribute("colspan", String(count)) }
    /// The heading of a cell where the row is shown as a block.
    package static func cellName(_ name: String) -> Attribute { Attribute("data-name", name) }
    package static let current = Attribute("aria-current", "page")
    package static let decoration = Attribute("aria-hidden", "true")
    package static func spoken(_ text: String) -> Attribute { Attribute("aria-label", Unseen.shown(text)) }
    package static func describedBy(_ id: ElementID) -> Attribute { Attribute("aria-describedby", id.rawValue) }
    package static func role(_ role: ElementRole) -> Attribute { Attribute("role", role.rawValue) }
    /// A thing that scrolls by itself must be reached by the keyboard.
    package static let focusable = Attribute("tabindex", "0")
    package static let open = Attribute("open", nil)
    /// Neither shown nor spoken.
    package static let unshown = Attribute("hidden", nil)

    // MARK: - Forms

    package static func rows(_ count: Int) -> Attribute { Attribute("rows", String(count)) }
    /// A button that sends a form although something is missing in it.
    package static let unvalidated = Attribute("formnovalidate", nil)
    package static func type(_ type: InputType) -> Attribute { Attribute("type", type.rawValue) }
    package static func name(_ name: String) -> Attribute { Attribute("name", name) }
    package static func value(_ value: String) -> Attribute { Attribute("value", value) }
    package static func label(for id: ElementID) -> Attribute { Attribute("for", id.rawValue) }
    package static func placeholder(_ text: String) -> Attribute { Attribute("placeholder", text) }
    package static func autocomplete(_ kind: Autocompletion) -> Attribute { Attribute("autocomplete", kind.rawValue) }
    package static func lengths(from least: Int, to most: Int) -> [Attribute] {
        [Attribute("minlength", String(least)), Attribute("maxlength", String(most))]
    }
    package static func maxLength(_ most: Int) -> Attribute { Attribute("maxlength", String(most)) }
    package static func minLength(_ least: Int) -> Attribute { Attribute("minlength", String(least)) }
    /// Of a progress of which a value is a part.
    package static func most(_ most: Int) -> Attribute { Attribute("max", String(most)) }
    package static let required = Attribute("required", nil)
    package static let selected = Attribute("selected", nil)
    package static let unspelled = Attribute("spellcheck", "false")
    package static let uncapitalised = Attribute("autocapitalize", "none")
    package static func shortcut(_ key: StaticString) -> Attribute { Attribute("accesskey", "\(key)") }

    // MARK: - The head of a page

    package static let utf8 = Attribute("charset", "utf-8")
    package static func metaName(_ name: StaticString) -> Attribute { Attribute("name", "\(name)") }
    package static func content(_ text: StaticString) -> Attribute { Attribute("content", "\(text)") }
    /// Loads the same page again after so many seconds.
    package static let refresh = Attribute("http-equiv", "refresh")
    package static func seconds(_ seconds: Int) -> Attribute { Attribute("content", String(seconds)) }
}

package enum TableScope: String, Sendable {
    case column = "col"
    case row
}

package enum ElementRole: String, Sendable {
    case alert
    case status
    case group
    case region
    case search
    case image = "img"
}

package enum InputType: String, Sendable {
    case hidden, password, search, submit, text
}

package enum Autocompletion: String, Sendable {
    case off
    case username
    case currentPassword = "current-password"
    case newPassword = "new-password"
}

/// The names of places on pages.
package enum ElementID: String, Sendable, CaseIterable {
    case main, query, name, password, passwordAgain = "password-again", currentPassword = "current-password", hint
    case zoneHint = "zone-hint"
    case environment, zone, type, state, endpoint, app, since, until, customer, purchase, status, product, entitlement
    case subtype, source, outcome, endsBefore = "ends-before", endsAfter = "ends-after", attribute, email
    case from, to, by, country, currency
    case refundedUntil = "refunded-until"
    case refundedSince = "refunded-since", changedSince = "changed-since", reason, duration, transaction, claim, typed
    case text, alias, create, preference, delivery, consumed, sample, consent, overlap, days
    case appleReason = "apple-reason"
    case url, format, environments, events, except, apps, ordering, schedule, include, version, authorization, headers
    case withoutAuthorization = "without-authorization"
    case withoutHeaders = "without-headers"
    case secret, asymmetric, policy, confirmation, order
}
