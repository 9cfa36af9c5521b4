import Base
import CLI
import Daemon

/// `storesim serve`: Apple's side of an app, on this host: the Server API and the sender of notifications.
struct ServeCommand: Command {
    static let declaration = CommandDeclaration(
        "serve", "Serve Apple's Server API and send notifications with Apple's retries.",
        options: [
            OptionDeclaration(
                "--dir", .text("DIR"), "Folder of certificates, key and configuration; default: ./storesim."),
            OptionDeclaration("--port", .text("N"), "Port on 127.0.0.1; default: 0, a free one."),
            OptionDeclaration(
                "--to", .text("URL"), "Receiver of notifications: http://HOST[:PORT][/PATH]; without it none is sent."),
            OptionDeclaration("--bundle-id", .text("ID"), "Bundle id of the app; default: com.example.app."),
            OptionDeclaration("--apple-app-id", .text("N"), "Apple's id of the app; default: 1234567890."),
            OptionDeclaration("--environment", .text("E"), "Sandbox (default) or Production."),
            OptionDeclaration("--scenario", .text("S"), "mixed (default), year, every-kind or story."),
            OptionDeclaration("--subscribers", .text("N"), "Number of lives; default: 10."),
            OptionDeclaration("--seed", .text("S"), "The same seed and --at tell the same lives."),
            OptionDeclaration(
                "--at", .text("TIME"), "End of the story, in ISO 8601; default: now. Later parts happen at their time."),
            OptionDeclaration(
                "--speed", .text("N"), "Factor by which the waits before retries are shortened; default: 1."),
            OptionDeclaration(
                "--retry-schedule", .text("WAITS"),
                "Waits before retries, such as 1h,12h; default: Apple's, five in production and none in the sandbox."),
            OptionDeclaration("--lost", .text("PERCENT"), "Share of notifications that never arrive; default: 0."),
            OptionDeclaration(
                "--requests-per-second", .text("N"),
                "Requests of each kind beyond which the answer is 429; default: no limit."),
            OptionDeclaration(
                "--fault", .text("KIND[:PERCENT][@PATH]"), isRepeatable: true,
                "Fault: rate_limited, error, bad_gateway, unauthorized, not_found, garbage, slow or reset."),
            OptionDeclaration("--json", "Print one JSON object when the program listens."),
        ],
        examples: ["serve --to http://127.0.0.1:8080/ --speed 3600"])

    private let path: String
    private let port: UInt16
    private let settings: StoreSettings
    private let plan: PlaybackPlan
    private let json: Bool

    init(_ parsed: ParsedArguments) throws(UsageError) {
        let arguments = CommandArguments(parsed, of: "serve")
        path = arguments.text("--dir") ?? "./storesim"
        port = try arguments.integer("--port", in: 0...UInt16.max, default: 0)
        json = arguments.isSet("--json")
        var app = StoreApp()
        app.bundleID = try arguments.value("--bundle-id", "a bundle id", default: app.bundleID) {
            $0.isEmpty || $0.contains { "\"\\".contains($0) || $0.isNewline } ? nil : $0
        }
        app.appleAppID = try arguments.integer("--apple-app-id", in: 1...Int64.max, default: app.appleAppID)
        app.environment = try arguments.environment()
        let now = SystemClock().now()
        var plan = PlaybackPlan(end: try arguments.value("--at", "a time in ISO 8601", default: now, Timestamp.parse))
        plan.app = app
        plan.scenario = try arguments.choice("--scenario", default: .mixed)
        plan.subscribers = try arguments.integer("--subscribers", in: 1...100_000, default: 10)
        plan.seed = try arguments.integer("--seed", in: 0...UInt64.max, default: UInt64(truncatingIfNeeded: now))
        self.plan = plan
        settings = try ServeCommand.settings(arguments, plan)
    }

    private static func settings(
        _ arguments: CommandArguments, _ plan: PlaybackPlan
    ) throws(UsageError) -> StoreSettings {
        var settings = StoreSettings()
        settings.app = plan.app
        settings.seed = plan.seed
        if let text = arguments.text("--to") {
            guard let url = ReceiverURL(text) else { throw arguments.wrong("--to", text, "http://HOST[:PORT][/PATH]") }
            settings.receiver = url
        }
        settings.speed = try arguments.value("--speed", "a number above 0", default: 1) {
            Double($0).flatMap { $0 > 0 && $0 <= 1e9 ? $0 : nil }
        }
        settings.retrySchedule = try arguments.waits("--retry-schedule", such: "1h,12h", default: nil)
        settings.lost = try arguments.integer("--lost", in: 0...100, default: 0)
        if arguments.isSet("--requests-per-second") {
            settings.requestsPerSecond = try arguments.integer("--requests-per-second", in: 1...1_000_000, default: 50)
        }
        for text in arguments.texts("--fault") {
            guard let fault = StoreFault(text: text) else {
                throw arguments.wrong("--fault", text, "KIND[:PERCENT][@PATH]")
            }
            settings.faults.append(fault)
        }
        return settings
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        Signals.block()
        let folder = try ServeFolder(making: path)
        let pki = try folder.pki(now: SystemClock().now())
        let token = try folder.token(bundleID: plan.app.bundleID)
        let service = StoreService(settings, pki, token: token, notifications: plan.notifications())
        try service.start(port: port)
        let file = try folder.writeConfiguration(plan.app, token, pki, baseURL: service.baseURL)
        terminal.print(json ? described(service, pki, folder, file).text : text(service, pki, file))
        _ = Signals.wait()
        service.stop()
        return 0
    }

    private func described(
        _ service: StoreService, _ pki: StorePKI, _ folder: ServeFolder, _ file: String
    ) -> JSON {
        .object([
            "message": .string("listening"), "base_url": .string(service.baseURL), "config": .string(file),
            "issuer_id": .string(service.token.issuerID), "key_id": .string(service.token.keyID),
            "private_key_file": .string(folder.keyPath(service.token.keyID)),
            "root_file": .string(PKIFolder(folder.path).rootPath), "root_sha256": .string(pki.rootFingerprint),
            "bundle_id": .string(plan.app.bundleID), "apple_app_id": .int(plan.app.appleAppID),
            "environment": .string(plan.app.environment), "seed": .string("\(plan.seed)"),
        ])
    }

    private func text(_ service: StoreService, _ pki: StorePKI, _ file: String) -> String {
        """
        Apple's Server API for \(plan.app.bundleID), \(plan.app.environment): \(service.baseURL)
        \(plan.subscribers) subscribers of seed \(plan.seed); their ids: \(service.baseURL)/control/customers
        To ask it: entitled --config \(file) apple status ID
        To have it fail once: curl -d '{"kind":"rate_limited","seconds":2}' \(service.baseURL)/control/faults
        """
    }
}

extension PlaybackPlan {
    /// All of them, by date.
    package func notifications() -> [StoreNotification] {
        var all: [StoreNotification] = []
        forEach {
            all.append($0.notification)
            return true
        }
        return all.enumerated().sorted { ($0.element.signedDate, $0.offset) < ($1.element.signedDate, $1.offset) }
            .map(\.element)
    }
}
