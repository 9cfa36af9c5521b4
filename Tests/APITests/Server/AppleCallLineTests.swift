import Base
import Daemon
import TestSupport
import Testing

@testable import API

/// What waits for Apple has lines of its own.
struct AppleCallLineTests {
    private let lines = AppleCallLines()
    private let gate = Gate()

    private func add(_ kind: AppleCallLines.Kind, from address: UInt64, _ work: @escaping @Sendable () -> Void) -> Bool
    {
        lines.add(
            AppleCallLines.AppleCall(
                share: WorkShare(owner: address, isBounded: true), isBackend: false, kind: kind, work: work))
    }

    @Test func `first looks at accounts are few at a time, few wait, and they hold up no restore`() throws {
        lines.start()
        defer {
            gate.open()
            lines.end(until: .now + .seconds(20))
        }
        let gate = gate
        for address in 0..<2 as Range<UInt64> { #expect(add(.account, from: address) { gate.pass() }) }
        try eventually("two are asked about") { gate.holding == 2 }
        #expect((2..<100 as Range<UInt64>).filter { add(.account, from: $0) { gate.pass() } }.count == 16)
        let isRestored = Monitor(false)
        #expect(add(.receipt, from: 0) { isRestored.change { $0 = true } })
        #expect(isRestored.wait(timeout: .seconds(20)) { $0 ? true : nil } == true)
        #expect(gate.holding == 2)
    }
}
