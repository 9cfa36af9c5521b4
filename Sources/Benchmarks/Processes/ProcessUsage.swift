import FoundationEssentials
import Glibc

/// What a process has used, as /proc tells it (proc(5)).
struct ProcessUsage {
    /// Seconds of user and system time of all its threads; of a server also of those of its children that it reaped.
    let cpu: Double
    /// Bytes in memory now, and at most so far.
    let resident: Double
    let peakResident: Double

    init(of process: pid_t) {
        let times = ProcessUsage.times(of: process)
        cpu = Double(times.own) / ProcessUsage.ticks
        let status = ProcessUsage.status(of: process)
        resident = status["VmRSS"] ?? 0
        peakResident = status["VmHWM"] ?? 0
    }

    private static let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

    /// Seconds that a server and its children used so far, also those that ended.
    static func treeCPU(of server: pid_t) -> Double {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        var sum = 0
        for process in names.compactMap({ pid_t($0) }) {
            let times = times(of: process)
            if process == server { sum += times.own + times.reaped }
            if times.parent == server { sum += times.own }
        }
        return Double(sum) / ticks
    }

    /// Seconds that the threads which still run have used, to the nanosecond (/proc/PID/task/TID/schedstat).
    static func runningThreadsCPU(of process: pid_t) -> Double {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.reduce(0) { sum, thread in
            let text = text("/proc/\(process)/task/\(thread)/schedstat")
            return sum + (text.split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e9
        }
    }

    /// Bytes in memory of a server and its children; what several share counts once (proportional set size).
    static func treeMemory(of server: pid_t) -> Double {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { $0 == server || times(of: $0).parent == server }
            .reduce(0) { $0 + (values("/proc/\($1)/smaps_rollup")["Pss"] ?? 0) }
    }

    private static func times(of process: pid_t) -> (parent: pid_t, own: Int, reaped: Int) {
        let text = text("/proc/\(process)/stat")
        // The name in parentheses may contain anything; fields are counted behind it.
        guard let end = text.lastIndex(of: ")") else { return (0, 0, 0) }
        let fields = text[text.index(after: end)...].split(separator: " ")
        func field(_ number: Int) -> Int { number < fields.count ? Int(fields[number]) ?? 0 : 0 }
        return (pid_t(field(1)), field(11) + field(12), field(13) + field(14))
    }

    private static func status(of process: pid_t) -> [String: Double] { values("/proc/\(process)/status") }

    /// Lines of `NAME: NUMBER kB`, in bytes.
    private static func values(_ path: String) -> [String: Double] {
        var values: [String: Double] = [:]
        for line in text(path).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let number = parts.last?.split(whereSeparator: { $0 == " " || $0 == "\t" }).first
            if parts.count == 2, let kilobytes = number.flatMap({ Double($0) }) {
                values[String(parts[0])] = kilobytes * 1024
            }
        }
        return values
    }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
