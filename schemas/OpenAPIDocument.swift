/// The contracts of the REST API (`openapi.yaml`) and of the operator API, as this program has them.
package enum OpenAPIDocument {
    package static let bytes: [UInt8] = PackageResources.openapi_yaml

    /// `operator.yaml`, the contract of the operator API.
    package static let operatorBytes: [UInt8] = PackageResources.operator_yaml
}
