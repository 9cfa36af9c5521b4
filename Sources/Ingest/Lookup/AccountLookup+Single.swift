import AppStore
import AppStoreAPI
import Base
import Database
import Subscriptions

/// What an operator asks about beside whole accounts.
extension AccountLookup {
    /// One transaction of any kind; nil where Apple does not know it.
    package func transaction(
        _ id: String, in environment: StoreEnvironment, _ options: CallOptions
    ) -> Result<TransactionAdmission.Admitted?, ServerAPIError> {
        Result { () throws(ServerAPIError) in
            let item = try AccountLookup.known { () throws(ServerAPIError) in
                try client.transaction(id, in: .only(environment), options).answer
            }
            guard let item else { return nil }
            return try admitted(item)
        }
    }

    /// The transactions of an order, the oldest first; none where Apple knows no such order of the app, or says that it is not
    /// valid. Apple has orders of Production alone.
    package func order(
        _ id: String, _ options: CallOptions
    ) -> Result<[TransactionAdmission.Admitted], ServerAPIError> {
        Result { () throws(ServerAPIError) in
            let items = try AccountLookup.known { () throws(ServerAPIError) in
                try client.order(id, in: .production, options)
            }
            var admitted: [TransactionAdmission.Admitted] = []
            for item in (items ?? nil) ?? [] { admitted.append(try self.admitted(item)) }
            return admitted.sorted { ($0.payload.purchaseDate ?? 0) < ($1.payload.purchaseDate ?? 0) }
        }
    }
}
