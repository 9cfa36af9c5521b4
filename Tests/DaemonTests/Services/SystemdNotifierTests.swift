import Daemon
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite struct SystemdNotifierTests {
    @Test(arguments: [false, true]) func `what systemd is told arrives at its socket`(isAbstract: Bool) throws {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let socket = try DatagramSocket(isAbstract ? "@\(folder)/notify" : "\(folder)/notify")
        let notifier = SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "3000000"])
        #expect(notifier.watchdogInterval == .milliseconds(1500))
        notifier.ready()
        notifier.status("not ready: the database\nis unavailable")
        notifier.isAlive()
        notifier.reloading()
        notifier.stopping()
        #expect(socket.receive() == "READY=1")
        #expect(socket.receive() == "STATUS=not ready: the database is unavailable")
        #expect(socket.receive() == "WATCHDOG=1")
        let reloading = try #require(socket.receive())
        #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]+/) != nil)
        #expect(socket.receive() == "STOPPING=1\nSTATUS=draining")
    }

    @Test func `without a socket, or with one that is away, nothing happens`() {
        for name in [nil, "", "/", "relative", "/nowhere/at/all", String(repeating: "/long", count: 40)] {
            let environment = name.map { ["NOTIFY_SOCKET": $0] } ?? [:]
            SystemdNotifier(environment: environment).ready()
        }
        #expect(SystemdNotifier(environment: ["WATCHDOG_USEC": "3000000"]).watchdogInterval == nil)
    }

    @Test func `the watchdog of another process is none of ours`() {
        let environment = ["NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "3000000"]
        let other = environment.merging(["WATCHDOG_PID": "1"]) { $1 }
        #expect(SystemdNotifier(environment: other).watchdogInterval == nil)
        let own = environment.merging(["WATCHDOG_PID": "\(getpid())"]) { $1 }
        #expect(SystemdNotifier(environment: own).watchdogInterval == .milliseconds(1500))
    }
}
