@testable import AppStore

/// What Apple's own libraries answer in their tests, and what we answer.
///
/// The libraries: app-store-server-library-swift 6.0.0, -python 3.1.1, -node 3.1.0, -java 5.2.0 of 2026. The names are
/// those of the tests in Python; where Python has none, those of the library that has the test. A test of each name,
/// in a suite of the same name, shows that our column is true.
struct ConformanceCase: Sendable {
    let suite: String
    let name: String
    let swift: String
    let python: String
    let node: String
    let java: String
    let ours: Answer

    /// What we say of the same input.
    enum Answer: Sendable, Equatable, CustomStringConvertible {
        case valid
        case refused(VerificationFailure.Reason)
        /// The members are read as theirs are. As data of Xcode and of local tests it is refused all the same.
        case decoded
        /// There is no verifier without this.
        case noVerifier
        /// So many chains are kept afterwards.
        case chainsKept(Int)

        var description: String {
            switch self {
            case .valid: "valid"
            case .refused(let reason): reason.rawValue
            case .decoded: "decoded"
            case .noVerifier: "no verifier"
            case .chainsKept(let count): "\(count) kept"
            }
        }
    }
}

enum ConformanceTable {
    static let cases: [ConformanceCase] = certificates + caching + payloads + xcode + models

    static func answer(_ suite: String, _ function: String) -> ConformanceCase.Answer? {
        cases.first { $0.suite == suite && "\($0.name)()" == function }?.ours
    }

    private typealias Row = (
        name: String, swift: String, python: String, node: String, java: String, ours: ConformanceCase.Answer
    )

    private static func rows(_ suite: String, _ rows: [Row]) -> [ConformanceCase] {
        rows.map {
            ConformanceCase(
                suite: suite, name: $0.name, swift: $0.swift, python: $0.python, node: $0.node, java: $0.java,
                ours: $0.ours)
        }
    }

    private static let failed = "VERIFICATION_FAILURE"
    private static let format = "INVALID_JWT_FORMAT"
    private static let certificate = "INVALID_CERTIFICATE"
    private static let length = "INVALID_CHAIN_LENGTH"
    private static let chain = "INVALID_CHAIN"
    private static let app = "INVALID_APP_IDENTIFIER"
    private static let environment = "INVALID_ENVIRONMENT"
    private static let throwing = "throws at construction"

    private static let certificates = rows(
        "X509Verification",
        [
            ("test_valid_chain_without_ocsp", "OK", "OK", "OK", "OK", .valid),
            (
                "test_valid_chain_invalid_intermediate_OID_without_OCSP", failed, failed, failed, chain,
                .refused(.missingIntermediateOID)
            ),
            (
                "test_valid_chain_invalid_leaf_OID_without_OCSP", failed, failed, failed, chain,
                .refused(.missingLeafOID)
            ),
            ("test_invalid_chain_length", format, length, certificate, length, .refused(.chainLength)),
            (
                "test_invalid_base64_in_certificate_list", certificate, certificate, certificate, certificate,
                .refused(.malformedCertificate)
            ),
            (
                "test_invalid_data_in_certificate_list", format, certificate, certificate, certificate,
                .refused(.malformedCertificate)
            ),
            ("test_malformed_root_cert", throwing, certificate, throwing, throwing, .noVerifier),
            (
                "test_chain_different_than_root_certificate", failed, failed, failed, chain, .refused(.untrustedRoot)
            ),
            (
                "test_valid_expired_chain", failed, failed, certificate, chain, .refused(.certificateNotValidAtDate)
            ),
            // Theirs ask Apple's responders. Ours asks beside the verification, never in it.
            ("test_apple_chain_is_valid_with_ocsp_and_strict", "OK", "OK", "OK", "OK", .valid),
            // Of Java.
            ("testEmptyRootCertificateList", failed, certificate, failed, throwing, .refused(.untrustedRoot)),
        ])

    /// Theirs keep a chain for 15 minutes, with online checks only, for the sake of OCSP. Ours keeps it as long as
    /// there is room, in all cases, and looks at the dates of its certificates every time.
    private static let caching = rows(
        "X509Caching",
        [
            ("test_ocsp_response_caching", "once", "once", "once", "once", .chainsKept(1)),
            ("test_ocsp_response_caching_has_expiration", "twice", "twice", "twice", "twice", .chainsKept(1)),
            ("test_ocsp_response_caching_with_different_chain", "twice", "twice", "twice", "twice", .chainsKept(2)),
            (
                "test_ocsp_response_caching_with_slightly_different_chain", "twice", "twice", "twice", "twice",
                .chainsKept(2)
            ),
        ])

    private static let payloads = rows(
        "PayloadVerification",
        [
            ("test_app_store_server_notification_decoding", "OK", "OK", "OK", "OK", .valid),
            (
                "test_app_store_server_notification_decoding_production", environment, environment, environment,
                environment, .refused(.wrongEnvironment)
            ),
            ("test_missing_x5c_header", format, failed, certificate, failed, .refused(.chainLength)),
            ("test_wrong_bundle_id_for_server_notification", app, app, app, app, .refused(.wrongBundleID)),
            ("test_wrong_app_apple_id_for_server_notification", app, app, app, app, .refused(.wrongAppleAppID)),
            // Of Swift: the notification, taken for a transaction.
            ("testWrongAppAppleIdForServerNotification", app, app, app, app, .refused(.wrongBundleID)),
            ("test_wrong_bundle_id_for_transaction", app, app, app, app, .refused(.wrongBundleID)),
            ("test_renewal_info_decoding", "OK", "OK", "OK", "OK", .valid),
            ("test_transaction_info_decoding", "OK", "OK", "OK", "OK", .valid),
            // Of Node: the transaction, taken for a renewal info, which names no app.
            ("shouldVerifyATransactionInfoAsRenewalInfo", "OK", "OK", "OK", "OK", .valid),
            ("test_malformed_jwt_with_too_many_parts", format, failed, failed, failed, .refused(.malformedJWS)),
            ("test_malformed_jwt_with_malformed_data", format, failed, failed, failed, .refused(.malformedJWS)),
        ])

    /// Theirs are set to the environment Xcode, in which they check nothing. Ours has no such setting.
    private static let xcode = rows(
        "XcodeSignedData",
        [
            ("test_xcode_signed_app_transaction", "OK", "OK", "OK", "OK", .refused(.chainLength)),
            ("test_xcode_signed_transaction", "OK", "OK", "OK", "OK", .refused(.chainLength)),
            ("test_xcode_signed_renewal_info", "OK", "OK", "OK", "OK", .refused(.chainLength)),
            (
                "test_xcode_signed_app_transaction_with_production_environment", format, length, certificate, length,
                .refused(.chainLength)
            ),
        ])

    /// Theirs are set to the environment LocalTesting, in which they check nothing. Requests of Retention Messaging
    /// (test_realtime_request_decoding) are not ours to answer.
    private static let models = rows(
        "DecodedPayloads",
        [
            "test_app_transaction_decoding", "test_transaction_decoding", "test_transaction_with_revocation_decoding",
            "test_renewal_info_decoding", "test_notification_decoding",
            "test_consumption_request_notification_decoding",
            "test_summary_notification_decoding", "test_external_purchase_token_notification_decoding",
            "test_external_purchase_token_sandbox_notification_decoding",
            "test_rescind_consent_notification_decoding",
        ].map { ($0, "OK", "OK", "OK", "OK", .decoded) })
}
