import Base
import Crypto
import Subscriptions

/// What the configuration says of money, products and access, by which tables of reports are computed.
package struct ReportTerms: Sendable {
    let catalogue: EntitlementCatalogue
    let rates: DollarRates
    let seller: SellerTerms
    let foldSettings: FoldSettings
    /// A text that two terms of one program share only if they are the same: rows with another one are computed again.
    package let stamp: String

    /// To be counted up with every change of what rows say.
    private static let form = 3

    /// - Parameter foldSettings: what the configuration adds to facts.
    package init(
        catalogue: EntitlementCatalogue, rates: DollarRates, seller: SellerTerms, foldSettings: FoldSettings
    ) {
        self.catalogue = catalogue
        self.rates = rates
        self.seller = seller
        self.foldSettings = foldSettings
        let spelled = [catalogue.stamp, rates.stamp, seller.stamp, foldSettings.stamp].joined(separator: "\n\n")
        let hash = Hex.encode(Digest.sha256(Array(spelled.utf8)).prefix(8))
        stamp = "\(ReportTerms.form) \(Version.current) \(hash)"
    }
}
