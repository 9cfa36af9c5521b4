import Customers

extension APIError {
    /// What callers are told of errors that say what is wrong with a call; nil of all others.
    init?(known error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let refusal as CustomerActions.Rejection: self.init(refusal)
        default: return nil
        }
    }

    /// - Parameter why: the end of a sentence about a text that can name no customer.
    static func unusable(_ why: String) -> APIError {
        APIError(400, code: 7256, "This cannot be an app user id: it \(why).")
    }

    private init(_ refusal: CustomerActions.Rejection) {
        switch refusal {
        case .unknown(let id): self = .notFound("No customer has the id \(id).")
        case .unusable: self.init(400, code: 7256, "\(refusal).")
        case .notTheirs: self = .notFound("\(refusal).")
        case .taken, .restore:
            self.init(400, code: 7102, "There is already another active subscriber using the same receipt.")
        case .ungrantable(let why): self = .badRequest("The grant \(why).")
        case .grantStays: self = .badRequest("\(refusal).")
        case .persons:
            self.init(400, code: 7255, "Could not create the alias: \(refusal). A secret API key may join them.")
        case .tooManyIDs: self.init(400, code: 7255, "Could not create the alias: \(refusal).")
        case .busy: self = .unavailable("The customer's purchases are changing too fast; retry the request.")
        case .unheard: self = .unavailable("Apple does not answer about the receipt at the moment; retry the request.")
        }
    }
}
