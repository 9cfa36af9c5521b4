import COpenSSL

/// Issues X.509 v3 certificates (RFC 5280), signed with ECDSA and SHA-384 as Apple's are. For issuing only:
/// nothing that verifies uses it.
package enum CertificateIssuer {
    /// What a certificate says about its subject.
    package struct Profile: Sendable {
        package var commonName: String
        package var organization: String
        package var country: String
        /// Milliseconds since 1970, cut to seconds.
        package var notBefore: Int64
        package var notAfter: Int64
        /// An authority may sign certificates and lists, anything else only data.
        package var isAuthority: Bool
        /// How many authorities may follow below this one; nil for any number.
        package var pathLength: Int?
        /// Object identifiers of extensions that are only there, with ASN.1 NULL as their value.
        package var markers: [String]
        /// Where its status and its issuer are said to be found (authority information access): nothing asks there.
        package var statusURL: String?
        package var issuerURL: String?
        /// An object identifier, and a text for people: letters, digits, spaces, commas and dots.
        package var policy: (identifier: String, notice: String)?

        package init(
            commonName: String, organization: String = "Example Store", country: String = "US", notBefore: Int64,
            notAfter: Int64, isAuthority: Bool = false, pathLength: Int? = nil, markers: [String] = []
        ) {
            self.commonName = commonName
            self.organization = organization
            self.country = country
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.isAuthority = isAuthority
            self.pathLength = pathLength
            self.markers = markers
        }
    }

    /// A certificate as bytes.
    package struct Certificate: Sendable, Equatable {
        package let der: [UInt8]

        package init(der: [UInt8]) {
            self.der = der
        }

        package var pem: String { PEMBlock.encode("CERTIFICATE", der) }

        /// SHA-256 of the DER, 32 bytes: the fingerprint by which a root is trusted.
        package func fingerprint() -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: 32)
            guard EVP_Digest(der, der.count, &digest, nil, EVP_sha256(), nil) == 1 else { return [] }
            return digest
        }
    }

    /// A certificate that signs itself.
    package static func root(_ profile: Profile, key: SigningKey) throws(IssuingError) -> Certificate {
        try issue(profile, key: key.key, issuer: nil, issuerKey: key.key)
    }

    /// A certificate for the key `subject`, signed by the holder of `issuer`.
    package static func issue(
        _ profile: Profile, subject: SigningKey, issuer: Certificate, issuerKey: SigningKey
    ) throws(IssuingError) -> Certificate {
        let parsed = issuer.der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            return d2i_X509(nil, &next, bytes.count)
        }
        guard let parsed else { throw IssuingError("read the issuer's certificate") }
        defer { X509_free(parsed) }
        return try issue(profile, key: subject.key, issuer: parsed, issuerKey: issuerKey.key)
    }

    private static func issue(
        _ profile: Profile, key: OpaquePointer, issuer: OpaquePointer?, issuerKey: OpaquePointer
    ) throws(IssuingError) -> Certificate {
        guard let certificate = X509_new() else { throw IssuingError("make a certificate") }
        defer { X509_free(certificate) }
        // Version numbers start at 0.
        guard X509_set_version(certificate, 2) == 1, X509_set_pubkey(certificate, key) == 1 else {
            throw IssuingError("fill a certificate")
        }
        try setSerial(certificate)
        try setValidity(certificate, profile)
        try setNames(certificate, profile, issuer: issuer)
        try addExtensions(certificate, profile, issuer: issuer ?? certificate)
        guard X509_sign(certificate, issuerKey, EVP_sha384()) > 0 else { throw IssuingError("sign a certificate") }
        return Certificate(der: encoded { i2d_X509(certificate, $0) })
    }

    /// 127 random bits: positive, and not zero but once in a universe (RFC 5280 §4.1.2.2 allows 20 octets).
    private static func setSerial(_ certificate: OpaquePointer) throws(IssuingError) {
        guard let number = BN_new() else { throw IssuingError("make a serial number") }
        defer { BN_free(number) }
        guard BN_rand(number, 127, -1, 0) == 1,
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
        else { throw IssuingError("make a serial number") }
    }

    private static func setValidity(_ certificate: OpaquePointer, _ profile: Profile) throws(IssuingError) {
        guard ASN1_TIME_set(X509_getm_notBefore(certificate), Int(profile.notBefore / 1000)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), Int(profile.notAfter / 1000)) != nil
        else { throw IssuingError("set the validity of a certificate") }
    }

    private static func setNames(
        _ certificate: OpaquePointer, _ profile: Profile, issuer: OpaquePointer?
    ) throws(IssuingError) {
        let subject = X509_get_subject_name(certificate)
        for (field, value) in [("CN", profile.commonName), ("O", profile.organization), ("C", profile.country)] {
            let bytes = Array(value.utf8)
            guard X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1
            else { throw IssuingError("set the name of a certificate") }
        }
        guard X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate)) == 1 else {
            throw IssuingError("set the issuer of a certificate")
        }
    }

    private static func addExtensions(
        _ certificate: OpaquePointer, _ profile: Profile, issuer: OpaquePointer
    ) throws(IssuingError) {
        let pathLength = profile.pathLength.map { ",pathlen:\($0)" } ?? ""
        let constraints = profile.isAuthority ? "critical,CA:TRUE\(pathLength)" : "critical,CA:FALSE"
        let usage = profile.isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"
        // The key's own identifier comes before the authority's, which for a root is read from it.
        var extensions: [(Int32, String)] = [
            (NID_basic_constraints, constraints), (NID_key_usage, usage), (NID_subject_key_identifier, "hash"),
            (NID_authority_key_identifier, "keyid:always"),
        ]
        let places = [("OCSP", profile.statusURL), ("caIssuers", profile.issuerURL)].compactMap { method, url in
            url.map { "\(method);URI:\($0)" }
        }
        if !places.isEmpty { extensions.append((NID_info_access, places.joined(separator: ","))) }
        var sections = ""
        if let policy = profile.policy {
            extensions.append((NID_certificate_policies, "@policy"))
            sections = """
                [policy]
                policyIdentifier = \(policy.identifier)
                userNotice.1 = @notice
                [notice]
                explicitText = "UTF8:\(policy.notice)"

                """
        }
        for (kind, value) in extensions {
            guard entitled_issuing_add_extension(certificate, issuer, kind, value, sections) == 1 else {
                throw IssuingError("add an extension to a certificate")
            }
        }
        for marker in profile.markers {
            try addMarker(marker, to: certificate)
        }
    }

    private static func addMarker(_ identifier: String, to certificate: OpaquePointer) throws(IssuingError) {
        let null: [UInt8] = [0x05, 0x00]
        guard let object = OBJ_txt2obj(identifier, 1) else { throw IssuingError("read the object id \(identifier)") }
        defer { ASN1_OBJECT_free(object) }
        guard let value = ASN1_OCTET_STRING_new() else { throw IssuingError("make an extension") }
        defer { ASN1_OCTET_STRING_free(value) }
        guard ASN1_OCTET_STRING_set(value, null, 2) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { throw IssuingError("make an extension") }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(certificate, made, -1) == 1 else { throw IssuingError("add an extension") }
    }
}
