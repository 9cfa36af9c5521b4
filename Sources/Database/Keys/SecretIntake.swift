import Base
import Crypto
import Postgres

/// Secrets that operators give to the workers by the console: sealed to a key pair that follows from the workers' sealing key, so that
/// the console's role, which writes the request and reads it, cannot open them, and neither can a copy of the database.
package enum SecretIntake {
    /// The member of a change's parameters that has what was sealed, in base64url.
    package static let member = "given"
    /// The member that names what was given.
    package static let names = "gives"

    private static let publishing = """
        UPDATE entitled.sealing_key k SET intake_key = t.intake_key
        FROM unnest($1::text[], $2::bytea[]) AS t(fingerprint, intake_key)
        WHERE k.fingerprint = t.fingerprint AND k.intake_key IS DISTINCT FROM t.intake_key
        """
    private static let selectKey = "SELECT intake_key FROM entitled.sealing_key ORDER BY created_ms DESC LIMIT 1"

    /// Notes the public halves of this host's keys.
    ///
    /// - Returns: whether there is one for the key in use; false, too, where the schema is older than intakes.
    package static func publish(_ sealer: SecretSealer, on connection: PostgresConnection) throws -> Bool {
        let intakes = sealer.intakes
        guard intakes.count == sealer.fingerprints.count else { return false }
        do {
            if try publicKey(on: connection).map({ key in intakes.contains { $0.publicKey == key } }) ?? false {
                return true
            }
            _ = try connection.query(publishing, [.texts(sealer.fingerprints), .byteas(intakes.map(\.publicKey))])
            return try publicKey(on: connection) != nil
        } catch let error as PostgresError where error.isUndefined {
            return false
        }
    }

    /// What secrets are sealed to now; nil: no worker has noted it.
    package static func publicKey(on connection: PostgresConnection) throws -> [UInt8]? {
        try connection.query(selectKey).first?.optionalBytes("intake_key")
    }

    /// What a secret is tied to: it opens for this endpoint at this URL alone, so that a request that was copied sends it nowhere else.
    private static func context(_ kind: ChangeKind, _ endpoint: String, _ url: String) -> String {
        "entitled intake \(JSON.strings([kind.rawValue, endpoint, url]).text)"
    }

    package static func seal(
        _ given: GivenSecrets, to key: [UInt8], _ kind: ChangeKind, _ endpoint: String, url: String
    ) throws -> String {
        Base64.encodeURL(
            try AnswerKey.seal(given.json.bytes, to: key, context: context(kind, endpoint, url)))
    }

    /// Nil for what none of the keys opens, for another endpoint, or at another URL.
    package static func open(
        _ text: String, with sealer: SecretSealer, _ kind: ChangeKind, _ endpoint: String, url: String
    ) -> GivenSecrets? {
        guard let sealed = Base64.decodeURL(text.utf8) else { return nil }
        let context = context(kind, endpoint, url)
        for intake in sealer.intakes {
            guard let bytes = intake.open(sealed, context: context) else { continue }
            return (try? JSON(parsing: bytes)).flatMap { try? GivenSecrets($0) }
        }
        return nil
    }
}

/// What is secret of an endpoint, as an operator gives it.
package struct GivenSecrets: Sendable, Equatable {
    /// The verbatim value of the `authorization` header.
    package var authorization: Redacted<String>?
    package var headers: [CustomHeader] = []
    package var secret: WebhookSecret?

    /// Members of a request that must not be kept as they are.
    package static let members: Set = ["authorization", "headers", "secret"]

    package init() {}

    package init(authorization: String?, headers: [String], secret: String?) throws(EndpointForm.Flaw) {
        if let authorization {
            guard !authorization.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
                throw EndpointForm.Flaw("authorization", "authorization must have no control characters.")
            }
            guard authorization.utf8.count <= CustomHeader.sizeLimit else {
                throw EndpointForm.Flaw(
                    "authorization", "authorization can have at most \(CustomHeader.sizeLimit) bytes.")
            }
            self.authorization = Redacted(authorization)
        }
        guard headers.count <= CustomHeader.limit else { throw GivenSecrets.tooMany }
        for text in headers {
            let header: CustomHeader
            do {
                header = try CustomHeader(parsing: text)
            } catch {
                throw EndpointForm.Flaw("headers", "A header cannot be set: \(error).")
            }
            guard !self.headers.contains(where: { $0.isNamed(header.name) }) else {
                throw EndpointForm.Flaw("headers", "The header \(header.name) is given twice.")
            }
            self.headers.append(header)
        }
        if let secret {
            guard let read = WebhookSecret(secret) else {
                let lengths = WebhookSecret.lengths
                throw EndpointForm.Flaw(
                    "secret",
                    "secret must be whsec_ and the base64 of \(lengths.lowerBound) to \(lengths.upperBound) bytes, padded"
                        + " with =.")
            }
            self.secret = read
        }
    }

    private static let tooMany = EndpointForm.Flaw(
        "headers", "An endpoint can have at most \(CustomHeader.limit) headers of its own.")

    package var isEmpty: Bool { names.isEmpty }

    /// Which are given: a plan is of these, and says nothing of their values.
    package var names: [String] {
        [
            authorization.map { _ in "authorization" }, headers.isEmpty ? nil : "headers", secret.map { _ in "secret" },
        ].compactMap(\.self) + headers.map { "header \($0.name.lowercased())" }
    }

    fileprivate var json: JSON {
        .object([
            "authorization": .text(authorization?.exposed),
            "headers": .strings(headers.map { "\($0.name): \($0.value.exposed)" }), "secret": .text(secret?.text),
        ])
    }

    fileprivate init(_ json: JSON) throws(EndpointForm.Flaw) {
        try self.init(
            authorization: json["authorization"]?.stringValue,
            headers: json["headers"]?.arrayValue?.compactMap(\.stringValue) ?? [], secret: json["secret"]?.stringValue)
    }
}
