/// Why a row of another system's export and the records here differ.
package enum ComparisonCause: String, Sendable, CaseIterable {
    case missingHere = "missing_here"
    case missingThere = "missing_there"
    case otherOwner = "other_owner"
    case otherEnd = "other_end"
    case otherEntitlements = "other_entitlements"

    /// What it usually comes from, and what mends it.
    package var explanation: String {
        switch self {
        case .missingHere:
            "The file has a transaction that is not known here. Import the file; its file of refused rows says which"
                + " transactions Apple does not know, and workers have to apply what was imported."
        case .missingThere:
            "The newest transaction of a purchase here is not in the file. The export may be of some apps or of new rows"
                + " only, or the other system did not get Apple's notification or the app's post."
        case .otherOwner:
            "No id of the row names the customer who owns the purchase here. The buyer restored it under another id, a"
                + " row before named another customer, or nothing names the buyer here; `entitled customers show` and"
                + " `entitled purchases claim` show and mend it."
        case .otherEnd:
            "Access by the newest transaction ends at another time. The other system has not heard of a grace period, an"
                + " extension or a refund, or assumes one that Apple has not signed."
        case .otherEntitlements:
            "The product gives other entitlements. The configuration here maps it otherwise: compare `entitlements` with"
                + " the other system's."
        }
    }
}
