/// `openapi.yaml`, the contract of the REST API, as this program has it.
package enum OpenAPIDocument {
    package static let bytes: [UInt8] = PackageResources.openapi_yaml
}
