import Base

/// `storesim play`: the lives of subscribers as notifications, sent as the App Store sends them.
struct PlayCommand: StoresimCommand {
    static var syntax: CommandSyntax {
        CommandSyntax(
            name: "play", summary: "Sends the lives of subscribers as signed notifications.",
            options: [
                .init(name: "--to", value: "URL", help: "the receiver: http://HOST[:PORT][/PATH]"),
                .init(name: "--pki", value: "DIR", help: "what `storesim pki` made"),
                .init(name: "--bundle-id", value: "ID", help: "of the app (com.example.app)"),
                .init(name: "--apple-app-id", value: "N", help: "of the app (1234567890)"),
                .init(name: "--environment", value: "E", help: "Sandbox (default) or Production"),
                .init(name: "--scenario", value: "S", help: "mixed (default), year, every-kind or story"),
                .init(name: "--subscribers", value: "N", help: "how many lives (1)"),
                .init(
                    name: "--seed", value: "S",
                    help: "the same seed and --at tell the same lives; else another each time"),
                .init(name: "--at", value: "TIME", help: "when the story ends, ISO 8601 (now)"),
                .init(name: "--duplicates", value: "PERCENT", help: "how many are sent twice (0)"),
                .init(name: "--shuffle", value: nil, help: "in any order (among 200 subscribers each)"),
                .init(name: "--rate", value: "R", help: "requests in a second; 0 (default): as fast as possible"),
                .init(
                    name: "--live", value: nil, help: "each when it is signed, from now on; only --scenario story"),
                .init(name: "--connections", value: "N", help: "kept open, each with one request at a time (4)"),
                .init(
                    name: "--retry-schedule", value: "WAITS",
                    help: "waits before further attempts, as in 1s,2s,5s (none)"),
                .init(name: "--timeout", value: "TIME", help: "of one request (30s)"),
                .init(name: "--ahead", value: "N", help: "signed before sending begins, 19 KB each (20000)"),
                .init(name: "--dry-run", value: nil, help: "send nothing, write the bodies to --out"),
                .init(name: "--out", value: "DIR", help: "where a dry run writes"),
                .init(name: "--lines", value: nil, help: "one line for each answer (default for up to 10 subscribers)"),
                .init(name: "--quiet", value: nil, help: "only the summary"),
                .init(name: "--json", value: nil, help: "JSON lines: each answer with --lines, then the summary"),
            ])
    }

    private enum Target {
        case receiver(ReceiverURL)
        case folder(String)
    }

    private let plan: PlaybackPlan
    private let folder: PKIFolder
    private let target: Target
    private let connections: Int
    private let rate: Double
    private let isLive: Bool
    private let retrySchedule: [Duration]
    private let timeout: Duration
    private let ahead: Int
    private let lines: Bool
    private let quiet: Bool
    private let json: Bool

    init(_ arguments: CommandArguments) throws(UsageError) {
        folder = PKIFolder(try arguments.required("--pki"))
        plan = try PlayCommand.plan(arguments)
        target = try PlayCommand.target(arguments)
        connections = try arguments.integer("--connections", in: 1...1000, default: 4)
        rate = try arguments.value("--rate", "a number from 0 to 1000000", default: 0) {
            Double($0).flatMap { $0 >= 0 && $0 <= 1_000_000 ? $0 : nil }
        }
        isLive = arguments.isSet("--live")
        guard !isLive || (plan.scenario == .story && !plan.isShuffled && rate == 0) else {
            throw UsageError("storesim play: --live is for --scenario story, without --shuffle and --rate")
        }
        retrySchedule = try arguments.value("--retry-schedule", "a list of durations such as 1s,2s", default: []) {
            let waits = $0.split(separator: ",", omittingEmptySubsequences: false).map { Duration(text: String($0)) }
            return waits.contains(nil) ? nil : waits.compactMap(\.self)
        }
        timeout = try arguments.value("--timeout", "a duration such as 30s", default: .seconds(30)) {
            Duration(text: $0).flatMap { $0 > .zero ? $0 : nil }
        }
        ahead = try arguments.integer("--ahead", in: 1...10_000_000, default: 20_000)
        quiet = arguments.isSet("--quiet")
        json = arguments.isSet("--json")
        guard !quiet || !arguments.isSet("--lines") else {
            throw UsageError("storesim play: --lines and --quiet exclude each other")
        }
        lines = arguments.isSet("--lines") || (!quiet && !json && plan.subscribers <= 10)
    }

    private static func plan(_ arguments: CommandArguments) throws(UsageError) -> PlaybackPlan {
        let now = SystemClock().now()
        // A live story begins when it is signed.
        let end = arguments.isSet("--live") ? now &+ 1000 &+ SubscriberStory.year : now
        var plan = PlaybackPlan(end: try arguments.value("--at", "a time in ISO 8601", default: end, Timestamp.parse))
        plan.app.bundleID = try arguments.value("--bundle-id", "a bundle id", default: plan.app.bundleID) {
            $0.isEmpty ? nil : $0
        }
        plan.app.appleAppID = try arguments.integer("--apple-app-id", in: 1...Int64.max, default: plan.app.appleAppID)
        plan.app.environment = try arguments.value("--environment", "Sandbox or Production", default: "Sandbox") {
            ["Sandbox", "Production"].contains($0) ? $0 : nil
        }
        plan.scenario = try arguments.choice("--scenario", default: .mixed)
        plan.subscribers = try arguments.integer("--subscribers", in: 1...10_000_000, default: 1)
        plan.seed = try arguments.integer("--seed", in: 0...UInt64.max, default: UInt64(truncatingIfNeeded: now))
        plan.duplicates = try arguments.integer("--duplicates", in: 0...100, default: 0)
        plan.isShuffled = arguments.isSet("--shuffle")
        return plan
    }

    private static func target(_ arguments: CommandArguments) throws(UsageError) -> Target {
        if arguments.isSet("--dry-run") {
            guard !arguments.isSet("--to") else {
                throw UsageError("storesim play: --dry-run sends nothing, so --to is of no use")
            }
            return .folder(try arguments.required("--out"))
        }
        guard !arguments.isSet("--out") else { throw UsageError("storesim play: --out is for --dry-run") }
        let text = try arguments.required("--to")
        guard let url = ReceiverURL(text) else { throw arguments.wrong("--to", text, "http://HOST[:PORT][/PATH]") }
        return .receiver(url)
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        let pki = try folder.load()
        if !quiet && !json { terminal.note("seed \(plan.seed), until \(Timestamp.text(plan.end))\n") }
        switch target {
        case .folder(let path): return try write(to: path, pki, terminal)
        case .receiver(let url): return send(to: url, pki, terminal)
        }
    }

    private func write(to path: String, _ pki: StorePKI, _ terminal: Terminal) throws -> Int32 {
        let signer = NotificationSigner(pki)
        try FileAccess.makeFolder(path)
        var count = 0
        try plan.forEach { letter in
            count += 1
            let number = String(repeating: "0", count: max(0, 6 - "\(count)".count)) + "\(count)"
            let name = "\(path)/\(number)-\(letter.notification.name).json"
            try FileAccess.write(name, try letter.body(signer))
            if lines { terminal.line(name) }
            return true
        }
        terminal.line(
            json
                ? JSON.object(["written": .int(Int64(count)), "dir": .string(path)]).text
                : "\(count) written to \(path)")
        return 0
    }

    private func send(to url: ReceiverURL, _ pki: StorePKI, _ terminal: Terminal) -> Int32 {
        var playback = Playback(plan: plan, receiver: url)
        playback.connections = connections
        playback.rate = rate
        playback.isLive = isLive
        playback.retrySchedule = retrySchedule
        playback.timeout = timeout
        playback.ahead = ahead
        if lines {
            let json = json
            playback.onAttempt = { terminal.line(json ? PlayLine.json($0) : PlayLine.text($0)) }
        }
        var bar = ProgressBar(terminal)
        let shows = terminal.isInteractive && !lines && !quiet && !json
        let report = playback.run(pki) { if shows { bar.show($0) } }
        if shows { bar.clear() }
        terminal.line(json ? report.json.text : report.text)
        return report.failed == 0 ? 0 : 1
    }
}
