import Base

/// The attributes that the data of an attribution network comes to, as RevenueCat's SDKs translate them since they send
/// attributes (`AttributionDataMigrator`); older ones post the data itself.
package enum AttributionAttributes {
    /// Of every network: which device it is.
    private static let device: KeyValuePairs<String, String> = [
        "rc_idfa": "$idfa", "idfa": "$idfa", "rc_idfv": "$idfv", "idfv": "$idfv", "rc_ip_address": "$ip",
        "rc_gps_adid": "$gpsAdId",
    ]

    /// By the number of the network; of several names for one attribute the first that is there counts.
    private static let networks: [Int64: KeyValuePairs<String, String>] = [
        1: [
            "rc_attribution_network_id": "$adjustId", "adid": "$adjustId", "network": "$mediaSource",
            "campaign": "$campaign", "adgroup": "$adGroup", "creative": "$creative",
        ],
        2: [
            "rc_attribution_network_id": "$appsflyerId", "rc_appsflyer_id": "$appsflyerId",
            "channel": "$mediaSource", "media_source": "$mediaSource", "campaign": "$campaign", "adset": "$adGroup",
            "ad": "$ad", "adgroup": "$ad", "af_keywords": "$keyword", "keyword": "$keyword", "ad_id": "$creative",
        ],
        3: ["channel": "$mediaSource", "campaign": "$campaign"],
        4: ["rc_attribution_network_id": "$tenjinId"],
        5: ["rc_attribution_network_id": "$fbAnonId"],
    ]

    /// `{key: {"value"}}`; empty where nothing has a meaning here.
    ///
    /// - Parameter network: a number, or its digits.
    package static func attributes(_ data: JSON, network: JSON?) -> JSON {
        let number = network?.intValue ?? network?.stringValue.flatMap { Int64($0) }
        let names = device.map { $0 } + (number.flatMap { networks[$0] }?.map { $0 } ?? [])
        var found: [String: JSON] = [:]
        for (name, key) in names where found[key] == nil {
            guard case .string(let text) = data[name], !text.isEmpty else { continue }
            found[key] = .object(["value": .string(text)])
        }
        return .object(found.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
    }
}
