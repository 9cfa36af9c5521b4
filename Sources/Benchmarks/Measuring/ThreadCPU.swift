import Glibc

/// The processor time of the calling thread.
enum ThreadCPU {
    /// Microseconds.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// Microseconds for each of `items`, the median of the rounds; one more round before them warms caches.
    static func microseconds(items: Int, rounds: Int, _ round: () throws -> Void) rethrows -> Double {
        try round()
        var measured: [Double] = []
        for _ in 0..<rounds {
            let before = now
            try round()
            measured.append((now - before) / Double(items))
        }
        return measured.median
    }
}
