import Database
import Foundation

extension ActionLog.Origin {
    /// Somebody at a command line: who they are to the system, and why they do it.
    static func commandLine(_ environment: [String: String], reason: String?) -> ActionLog.Origin {
        let user = environment["SUDO_USER"].flatMap { $0.isEmpty ? nil : $0 } ?? NSUserName()
        return ActionLog.Origin(actor: "\(user)@\(ProcessInfo.processInfo.hostName)", reason: reason)
    }
}
