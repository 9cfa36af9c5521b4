/// The environments that a server has to do with. Apple's others, Xcode and LocalTesting, are signed by nobody in
/// particular, and are never allowed.
package enum StoreEnvironment: String, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}
