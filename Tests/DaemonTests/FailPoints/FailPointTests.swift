import Glibc
import Testing

@testable import Daemon

@Suite struct FailPointTests {
    @Test func `a place, a pass and a way to go are read`() {
        let plain = FailPoint.Armed("apply.after-read")
        #expect(plain?.point == .applyAfterRead && plain?.pass == 1 && plain?.signal == SIGKILL)
        let third = FailPoint.Armed("deliver.before-send:3")
        #expect(third?.point == .deliverBeforeSend && third?.pass == 3 && third?.signal == SIGKILL)
        #expect(plain?.isLate == false)
        let late = FailPoint.Armed("ingest.before-insert:2:late")
        #expect(late?.pass == 2 && late?.isLate == true && late?.signal == SIGKILL)
        let still = FailPoint.Armed("apply.before-commit:stop")
        #expect(still?.pass == 1 && still?.signal == SIGSTOP)
        let later = FailPoint.Armed("lease.after-renewal:2:stop")
        #expect(later?.pass == 2 && later?.signal == SIGSTOP)
    }

    @Test(arguments: ["", "nowhere", "apply.after-read:0", "apply.after-read:x", "apply.after-read:1:2"])
    func `what names no place arms nothing`(text: String) {
        #expect(FailPoint.Armed(text) == nil)
    }

    @Test func `nobody dies without the variable`() {
        for point in FailPoint.allCases { point.pass() }
    }
}
