import Base

/// Where to look something up.
package enum EnvironmentChoice: Sendable, Hashable {
    case only(StoreEnvironment)
    /// In production, and where it does not know the transaction, in the sandbox: for who has an id and no more
    /// (https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info).
    case productionThenSandbox
}

/// An answer, and where it was found.
package struct Found<Answer: Sendable>: Sendable {
    package let environment: StoreEnvironment
    package let answer: Answer
}

extension ServerAPIClient {
    /// Asks one environment after the other, as the choice says and the app has them.
    func lookUp<Answer>(
        _ choice: EnvironmentChoice, _ body: (StoreEnvironment) throws(ServerAPIError) -> Answer
    ) throws(ServerAPIError) -> Found<Answer> {
        guard case .productionThenSandbox = choice, app.environments.contains(.production) else {
            let environment = choice.first
            return Found(environment: environment, answer: try body(environment))
        }
        do throws(ServerAPIError) {
            return Found(environment: .production, answer: try body(.production))
        } catch {
            guard error.code == .transactionIDNotFound, app.environments.contains(.sandbox) else { throw error }
            return Found(environment: .sandbox, answer: try body(.sandbox))
        }
    }
}

extension EnvironmentChoice {
    /// Without production there is only the sandbox.
    fileprivate var first: StoreEnvironment {
        switch self {
        case .only(let environment): environment
        case .productionThenSandbox: .sandbox
        }
    }
}
