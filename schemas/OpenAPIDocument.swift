import Base

/// The contracts of the REST API (`openapi.yaml`) and of the operator API, as this program has them.
package enum OpenAPIDocument {
    package static let bytes: [UInt8] = EmbeddedFile.bytes("openapi.yaml")

    /// `operator.yaml`, the contract of the operator API.
    package static let operatorBytes: [UInt8] = EmbeddedFile.bytes("operator.yaml")
}
