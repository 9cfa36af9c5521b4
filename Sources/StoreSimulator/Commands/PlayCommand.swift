import Base
import CLI

/// `storesim play`: the lives of subscribers as notifications, sent as the App Store sends them.
struct PlayCommand: Command {
    static let declaration = CommandDeclaration(
        "play", "Send the lives of subscribers as signed notifications.",
        options: [
            OptionDeclaration("--pki", .text("DIR"), isRequired: true, "Folder that `storesim pki` made."),
            OptionDeclaration("--to", .text("URL"), "Receiver: http://HOST[:PORT][/PATH]."),
            OptionDeclaration("--bundle-id", .text("ID"), "Bundle id of the app; default: com.example.app."),
            OptionDeclaration("--apple-app-id", .text("N"), "Apple's id of the app; default: 1234567890."),
            OptionDeclaration("--environment", .text("E"), "Sandbox (default) or Production."),
            OptionDeclaration("--scenario", .text("S"), "mixed (default), year, every-kind or story."),
            OptionDeclaration("--subscribers", .text("N"), "Number of lives; default: 1."),
            OptionDeclaration(
                "--seed", .text("S"), "The same seed and --at tell the same lives; default: another seed each time."),
            OptionDeclaration("--at", .text("TIME"), "End of the story, in ISO 8601; default: now."),
            OptionDeclaration("--duplicates", .text("PERCENT"), "Share that is sent twice; default: 0."),
            OptionDeclaration("--shuffle", "Send in any order, among 200 subscribers each."),
            OptionDeclaration(
                "--in-order",
                "Send a notification when the one before it of the same subscriber is done; not with --shuffle."),
            OptionDeclaration("--rate", .text("R"), "Requests per second; default: 0, as fast as possible."),
            OptionDeclaration(
                "--live", "Send each notification when it is signed, from now on; only with --scenario story."),
            OptionDeclaration(
                "--connections", .text("N"),
                "Connections that are kept open, with one request at a time each; default: 4."),
            OptionDeclaration(
                "--retry-schedule", .text("WAITS"),
                "Waits before further attempts, such as 1s,2s,5s; default: no further attempt."),
            OptionDeclaration("--timeout", .text("DURATION"), "Time limit of one request; default: 30s."),
            OptionDeclaration(
                "--ahead", .text("N"),
                "Notifications that are signed before sending begins, 19 kB each; default: 20000."),
            OptionDeclaration("--dry-run", "Send nothing and write the bodies to --out."),
            OptionDeclaration("--out", .text("DIR"), "Folder that a dry run writes to."),
            OptionDeclaration("--lines", "Print a line for each answer; default for up to 10 subscribers."),
            OptionDeclaration("--quiet", "Print only the summary."),
            OptionDeclaration("--json", "Print JSON lines: each answer with --lines, then the summary."),
        ],
        examples: [
            "play --pki pki --to http://127.0.0.1:8080/ --scenario every-kind", "play --pki pki --dry-run --out bodies",
        ])

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
    private let keepsOrder: Bool
    private let retrySchedule: [Duration]
    private let timeout: Duration
    private let ahead: Int
    private let lines: Bool
    private let quiet: Bool
    private let json: Bool

    init(_ parsed: ParsedArguments) throws(UsageError) {
        let arguments = CommandArguments(parsed, of: "play")
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
        keepsOrder = arguments.isSet("--in-order")
        guard !keepsOrder || !plan.isShuffled else {
            throw UsageError("storesim play: --in-order and --shuffle cannot be combined")
        }
        retrySchedule = try arguments.waits("--retry-schedule", such: "1s,2s", default: []) ?? []
        timeout = try arguments.value("--timeout", "a duration such as 30s", default: .seconds(30)) {
            Duration(text: $0).flatMap { $0 > .zero ? $0 : nil }
        }
        ahead = try arguments.integer("--ahead", in: 1...10_000_000, default: 20_000)
        quiet = arguments.isSet("--quiet")
        json = arguments.isSet("--json")
        guard !quiet || !arguments.isSet("--lines") else {
            throw UsageError("storesim play: --lines and --quiet cannot be combined")
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
        plan.app.environment = try arguments.environment()
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
        if !quiet && !json { terminal.printError("seed \(plan.seed), until \(Timestamp.text(plan.end))") }
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
            if lines { terminal.print(name) }
            return true
        }
        terminal.print(
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
        playback.keepsOrder = keepsOrder
        playback.retrySchedule = retrySchedule
        playback.timeout = timeout
        playback.ahead = ahead
        if lines {
            let json = json
            playback.onAttempt = { terminal.print(json ? PlayLine.json($0) : PlayLine.text($0)) }
        }
        var bar = ProgressBar(terminal)
        let shows = !lines && !quiet && !json
        let report = playback.run(pki) { if shows { bar.show($0.fraction, $0.text) } }
        bar.clear()
        terminal.print(json ? report.json.text : report.text)
        return report.failed == 0 ? ExitStatus.done : ExitStatus.failed
    }
}
