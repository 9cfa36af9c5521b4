import Base
import Database
import HTTP
import Postgres

/// Logs operators in, by password or by link, and sets their passwords.
package struct Login: Sendable {
    package enum Outcome: Sendable, Equatable {
        /// The cookie's new value.
        case done(Redacted<String>)
        /// The name or the password is wrong, or the link is over.
        case wrong
        /// Too many failures: the next attempt counts after so many ms.
        case wait(Int64)

        /// As metrics and the log name it.
        package var name: String {
            switch self {
            case .done: "done"
            case .wrong: "wrong"
            case .wait: "wait"
            }
        }
    }

    /// The browser that asks.
    package struct Client: Sendable, Equatable {
        /// Nil where a proxy hides it.
        package let address: IPAddress?
        package let browser: String

        package init(address: IPAddress?, browser: String) {
            (self.address, self.browser) = (address, browser)
        }

        /// As sessions and the log name it.
        package var text: String { address.map { "\($0)" } ?? "unknown" }

        /// /24 of IPv4, /64 of IPv6.
        fileprivate var network: LoginTryTable.Subject? {
            switch address {
            case .v4(let bits): .network("\(IPAddress.v4(bits & 0xffff_ff00))/24")
            case .v6(let high, _): .network("\(IPAddress.v6(high: high, low: 0))/64")
            case nil: nil
            }
        }
    }

    private let clock: any WallClock

    package init(clock: any WallClock) {
        self.clock = clock
    }

    /// An unknown name costs the same time as a wrong password, and reads the same.
    package func byPassword(
        _ name: String, _ password: Redacted<String>, _ client: Client, on connection: PostgresConnection
    ) throws -> Outcome {
        let isName = ConsoleUserTable.isName(name)
        let subjects = [isName ? .name(name) : nil, client.network].compactMap(\.self)
        let wait = try LoginTryTable.wait(for: subjects, now: clock.now(), on: connection)
        guard wait == 0 else { return .wait(wait) }
        let known = isName ? try PasswordTable.hash(of: name, on: connection) : nil
        let isRight = password.exposed.count <= PasswordHash.lengths.upperBound && (known ?? .none).isOf(password)
        try LoginTryTable.note(subjects, isFailure: !isRight || known == nil, now: clock.now(), on: connection)
        guard isRight, let known else { return .wrong }
        let renewed = known.isCurrent ? nil : PasswordHash(of: password)
        return try connection.transaction {
            // It may have been changed while it was checked.
            guard try PasswordTable.holds(known, of: name, on: connection) else { return .wrong }
            if let renewed { _ = try PasswordTable.set(renewed, of: name, on: connection) }
            return .done(try begin(name, client, isByLink: false, on: connection))
        }
    }

    package func byLink(_ token: String, _ client: Client, on connection: PostgresConnection) throws -> Outcome {
        guard let name = try LoginLinkTable.use(token, now: clock.now(), on: connection) else { return .wrong }
        return .done(try begin(name, client, isByLink: true, on: connection))
    }

    /// - Parameter name: which a proxy has confirmed.
    /// - Returns: `wrong` where there is no such operator.
    package func byProxy(_ name: String, _ client: Client, on connection: PostgresConnection) throws -> Outcome {
        guard ConsoleUserTable.isName(name), try ConsoleUserTable.find(name, on: connection) != nil else {
            return .wrong
        }
        let cookie = try begin(name, client, isByLink: false, on: connection)
        // A program that keeps no cookie begins one with each request.
        try SessionTable.endOldest(of: name, keeping: Login.mostByProxy, now: clock.now(), on: connection)
        return .done(cookie)
    }

    /// Sessions of an operator that live, where a proxy begins them.
    private static let mostByProxy = 50

    private func begin(
        _ name: String, _ client: Client, isByLink: Bool, on connection: PostgresConnection
    ) throws -> Redacted<String> {
        try SessionTable.begin(
            for: name, address: client.text, browser: client.browser, isByLink: isByLink, now: clock.now(),
            on: connection
        ).token
    }

    // MARK: - Passwords

    package enum Change: Sendable, Equatable {
        /// All sessions of the user ended, and this is the value of a new one.
        case done(Redacted<String>)
        case tooShort
        case tooLong
        /// The password before is wrong.
        case wrong
        case wait(Int64)
        /// OpenSSL had no memory for it.
        case unavailable
    }

    /// Sets the password of a session's user.
    ///
    /// - Parameter current: the password before; needed unless a log-in link began the session.
    package func setPassword(
        _ password: Redacted<String>, current: Redacted<String>?, of session: ConsoleSession, _ client: Client,
        on connection: PostgresConnection
    ) throws -> Change {
        guard password.exposed.count >= PasswordHash.lengths.lowerBound else { return .tooShort }
        guard password.exposed.count <= PasswordHash.lengths.upperBound else { return .tooLong }
        var checked: PasswordHash?
        if !session.isByLink {
            let subjects = [LoginTryTable.Subject.user(session.user)]
            let wait = try LoginTryTable.wait(for: subjects, now: clock.now(), on: connection)
            guard wait == 0 else { return .wait(wait) }
            let known = try PasswordTable.hash(of: session.user, on: connection)
            let isRight = current.map { (known ?? .none).isOf($0) } ?? false
            try LoginTryTable.note(subjects, isFailure: !isRight || known == nil, now: clock.now(), on: connection)
            guard isRight, let known else { return .wrong }
            checked = known
        }
        guard let hash = PasswordHash(of: password) else { return .unavailable }
        return try connection.transaction {
            if let checked, try !PasswordTable.holds(checked, of: session.user, on: connection) { return .wrong }
            guard try PasswordTable.set(hash, of: session.user, on: connection) else { return .wrong }
            try SessionTable.end(nil, of: session.user, now: clock.now(), on: connection)
            try LoginLinkTable.end(of: session.user, now: clock.now(), on: connection)
            return .done(try begin(session.user, client, isByLink: false, on: connection))
        }
    }
}
