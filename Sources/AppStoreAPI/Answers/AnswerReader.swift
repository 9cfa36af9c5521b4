import AppStore
import Base

/// Reads the answers of one environment, and verifies what is signed in them before it is confirmed.
struct AnswerReader {
    private let verifier: SignedDataVerifier
    private let identity: Identity

    init(_ client: ServerAPIClient, _ environment: StoreEnvironment) {
        verifier = client.verifier
        identity = client.app.identity(environment)
    }

    /// An answer that must be a JSON object with what it cannot do without.
    func read<Answer: WirePayload>(_ body: [UInt8]) throws(ServerAPIError) -> Answer {
        guard let answer = Answer(payload: body) else { throw .malformed("it is not a JSON object, or lacks a member") }
        return answer
    }

    func transaction(_ text: String, _ place: String) throws(ServerAPIError) -> SignedItem<TransactionPayload> {
        try item(text, place) { identity.mismatch(with: $0) }
    }

    func renewal(_ text: String, _ place: String) throws(ServerAPIError) -> SignedItem<RenewalInfoPayload> {
        try item(text, place) { identity.mismatch(with: $0) }
    }

    func appTransaction(_ text: String, _ place: String) throws(ServerAPIError) -> SignedItem<AppTransactionPayload> {
        try item(text, place) { identity.mismatch(with: $0) }
    }

    /// A list, in its order; one bad item spoils the answer.
    func transactions(_ texts: [String]) throws(ServerAPIError) -> [SignedItem<TransactionPayload>] {
        var items: [SignedItem<TransactionPayload>] = []
        for (index, text) in texts.enumerated() {
            items.append(try transaction(text, "signedTransactions[\(index)]"))
        }
        return items
    }

    /// A notification, with what is signed inside it. A bad one is told and spoils nothing: Apple's history may hold what
    /// this installation does not take.
    func notification(_ text: String) -> Result<InspectedData, VerificationFailure> {
        SignedDataInspector(verifier: verifier).inspect(Array(text.utf8), as: .notification, for: identity)
    }

    private func item<Payload: WirePayload>(
        _ text: String, _ place: String, _ mismatch: (Payload) -> VerificationFailure?
    ) throws(ServerAPIError) -> SignedItem<Payload> {
        do throws(VerificationFailure) {
            let jws = try verifier.verify(Array(text.utf8)).get()
            guard let payload = Payload(payload: jws.payload) else {
                throw VerificationFailure(.malformedPayload, "the payload is not an object of this kind")
            }
            if let mismatch = mismatch(payload) { throw mismatch }
            return SignedItem(text: text, jws: jws, payload: payload)
        } catch {
            throw .untrusted(place: place, error)
        }
    }
}
