/// An app in one of the store's environments.
package struct AppScope: Hashable, Sendable {
    package let app: String
    package let environment: StoreEnvironment

    package init(app: String, environment: StoreEnvironment) {
        self.app = app
        self.environment = environment
    }
}
