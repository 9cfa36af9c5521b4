import AppStore
import AppStoreAPI
import HTTP
import Ingest

extension APIError {
    private static let invalidReceipt = 7103

    /// It can never be taken: 400, code 7103.
    static func invalidReceipt(_ message: String) -> APIError { APIError(400, code: invalidReceipt, message) }

    /// A signed transaction has some thousand bytes: what is sent with it must not hide it from limits.
    static func checkSize(of call: APICall) throws {
        guard call.request.http.body.count <= LimitedRequest.largestBody else {
            throw APIError(
                413, code: badRequestCode,
                "A request with a signed transaction may have at most \(LimitedRequest.largestBody) bytes.")
        }
    }

    static let xcode = invalidReceipt(
        "The purchase was made in Xcode's local testing: Apple does not know it. Test with a sandbox account.")

    init(_ refusal: TransactionAdmission.Rejection) {
        switch refusal {
        case .unverified(let failure) where failure.reason == .revocationUnknown:
            self = .unavailable("The revocation status of Apple's certificate is unknown at the moment.")
        case .unverified(let failure):
            self = .invalidReceipt("The receipt is not valid: \(failure.reason.rawValue).")
        case .notWanted(let what): self = .invalidReceipt("The receipt is not valid: \(what).")
        case .unknownApp(let why): self = .invalidReceipt("The receipt is not valid here: \(why).")
        case .otherApp:
            self.init(403, code: APIError.invalidReceipt, "The receipt belongs to another app than the API key.")
        case .environmentNotAllowed(let why): self = .invalidReceipt("The receipt is not valid here: \(why).")
        case .unready(let why): self = .unavailable(why)
        }
    }

    init(_ failure: ReceiptVerifier.Failure) {
        switch failure {
        case .malformed:
            self = .invalidReceipt(
                "fetch_token is not a receipt: it is an ASN.1 document in base64, but not a PKCS #7 container.")
        case .xcode: self = .xcode
        case .untrusted(let why): self = .invalidReceipt("The receipt is not valid: \(why).")
        }
    }

    /// Whatever keeps Apple from answering may pass, or be mended by us: apps must not give up.
    init(_ error: ServerAPIError) {
        self = .unavailable("Apple could not be queried: \(error)")
    }
}
