import Customers
import Database

extension APICall {
    /// Who does it, as the log of actions names them.
    package var origin: ActionTable.Origin {
        ActionTable.Origin(actor: isSecret ? "api, by a secret key" : "api, by a public key")
    }
}
