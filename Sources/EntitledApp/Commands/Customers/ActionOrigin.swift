import Database
import Foundation

extension ActionTable.Origin {
    /// Somebody at a command line: who they are to the system, and why they do it.
    static func commandLine(_ environment: [String: String], reason: String?) -> ActionTable.Origin {
        let user = environment["SUDO_USER"].flatMap { $0.isEmpty ? nil : $0 } ?? NSUserName()
        return ActionTable.Origin(actor: "\(user)@\(ProcessInfo.processInfo.hostName)", reason: reason)
    }
}
