import Database
import Foundation

extension ActionTable.Origin {
    /// An operator at a command line: the user of the operating system, and the reason given.
    static func commandLine(_ environment: [String: String], reason: String?) -> ActionTable.Origin {
        let user = environment["SUDO_USER"].flatMap { $0.isEmpty ? nil : $0 } ?? NSUserName()
        return ActionTable.Origin(actor: "\(user)@\(ProcessInfo.processInfo.hostName)", reason: reason)
    }
}
