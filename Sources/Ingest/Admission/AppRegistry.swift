import AppStore
import Base

/// The apps whose notifications are taken, by bundle id.
package struct AppRegistry: Sendable {
    package struct App: Sendable {
        package let id: String
        package let bundleID: String
        /// Nil only where production is not allowed.
        package let appleAppID: Int64?
        package let environments: [StoreEnvironment]

        package init(id: String, bundleID: String, appleAppID: Int64?, environments: [StoreEnvironment]) {
            self.id = id
            self.bundleID = bundleID
            self.appleAppID = appleAppID
            self.environments = environments
        }
    }

    fileprivate let byBundleID: [String: App]

    package init(_ apps: [App]) {
        byBundleID = Dictionary(apps.map { ($0.bundleID, $0) }) { first, _ in first }
    }

    package func id(ofBundleID bundleID: String) -> String? { byBundleID[bundleID]?.id }

    package enum Admission: Sendable {
        case admitted(App, StoreEnvironment)
        case unknownApp(String)
        case environmentNotAllowed(String)
    }

    /// Whether what Apple signed is about one of these apps, in an environment that is allowed for it.
    ///
    /// Apple's id of the app counts in production only: the sandbox leaves it out at times.
    package func admit(_ subject: NotificationSubject?) -> Admission {
        guard let subject else { return .unknownApp("the notification names no app") }
        let admission = admit(bundleID: subject.bundleId, environment: subject.environment)
        if case .admitted(let app, .production) = admission, subject.appAppleId != app.appleAppID {
            return .unknownApp("the app's Apple id is another one than configured")
        }
        return admission
    }

    /// The same for a transaction, in which Apple signs no id of the app: its bundle id, which is one app's in the whole
    /// store, has to do.
    package func admit(bundleID: String?, environment: String?) -> Admission {
        guard let bundleID else { return .unknownApp("the notification names no app") }
        guard let app = byBundleID[bundleID] else {
            return .unknownApp("no app with this bundle id is configured")
        }
        guard let environment = environment.flatMap(StoreEnvironment.init(rawValue:)),
            app.environments.contains(environment)
        else { return .environmentNotAllowed("this environment is not allowed for this app") }
        return .admitted(app, environment)
    }
}

extension AppRegistry {
    /// The app and environment of a transaction, which names no Apple id of the app; nil where it is not one of these.
    package func place(bundleID: String?, environment: String?) -> (app: String, environment: StoreEnvironment)? {
        guard let app = bundleID.flatMap({ byBundleID[$0] }),
            let environment = environment.flatMap(StoreEnvironment.init(rawValue:)),
            app.environments.contains(environment)
        else { return nil }
        return (app.id, environment)
    }
}
