import Base
import CCurl
import Daemon
import Glibc

/// The thread on which all transfers of a client happen.
///
/// `@unchecked Sendable`: `inbox` locks itself and `poller.wake` is safe from any thread; everything else is touched only
/// by the thread that runs `run`.
final class TransferLoop: @unchecked Sendable {
    private let configuration: HTTPClientConfiguration
    private let policy: AddressPolicy
    private let resolver: Resolver
    private let logger: Logger
    private let finished: @Sendable (Submission, TransferOutcome) -> Void
    private let inbox = TransferInbox()
    private let poller: Poller
    private let multi: MultiHandle
    private var idleHandles: [EasyHandle] = []
    private var transfers: [Int: Transfer] = [:]
    private var nextNumber = 0
    /// Submitted, not begun, because as many as may be are on their way.
    private var waiting: [Submission] = []
    private var waitingHead = 0

    /// - Parameter finished: called on the loop's thread, once for each submission.
    init(
        _ configuration: HTTPClientConfiguration, resolver: Resolver, logger: Logger,
        finished: @escaping @Sendable (Submission, TransferOutcome) -> Void
    ) throws(HTTPClientError) {
        self.configuration = configuration
        self.resolver = resolver
        self.logger = logger
        self.finished = finished
        policy = AddressPolicy(
            allowedNetworks: configuration.allowedNetworks, allowsPlainHTTP: configuration.allowsPlainHTTP)
        poller = try Poller()
        guard let multi = MultiHandle(poller: poller, idleConnections: configuration.maxConnections) else {
            throw HTTPClientError(call: "curl_multi_init", number: ENOMEM)
        }
        self.multi = multi
    }

    // MARK: - From any thread

    /// False when the loop has ended, and will not do it.
    func submit(_ submission: Submission) -> Bool {
        post(.begin(submission))
    }

    /// Asks the loop to cut everything and end.
    func stop() {
        inbox.stop()
        poller.wake()
    }

    /// For a loop that is never run: takes nothing any more, and ends what was submitted.
    func interruptUnbegun() {
        for submission in inbox.close() {
            finished(submission, Submission.notBegun)
        }
    }

    private func post(_ command: TransferInbox.Command) -> Bool {
        let (taken, first) = inbox.post(command)
        // The caller that finds the inbox empty wakes the loop, which empties it at once.
        if first { poller.wake() }
        return taken
    }

    // MARK: - On the loop's thread

    func run() {
        blockBrokenPipes()
        while true {
            let problem = poller.wait(milliseconds: pause()) { descriptor, ready in
                multi.act(on: descriptor, ready)
            }
            if let problem {
                logger.error("HTTP client loop failed", ["error": .string("\(problem)")])
                break
            }
            multi.actOnTimer(now: ContinuousClock.now)
            finishDone()
            if handleInbox() { break }
        }
        interruptAll()
    }

    /// OpenSSL writes without MSG_NOSIGNAL: a peer that is gone must be an error, not a signal.
    private func blockBrokenPipes() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Milliseconds until libcurl's timer, rounded up; -1 without one.
    private func pause() -> Int32 {
        guard let timer = multi.timer else { return -1 }
        let left = timer - ContinuousClock.now
        guard left > .zero else { return 0 }
        return Int32(min(left / .milliseconds(1), 60_000).rounded(.up))
    }

    /// Whether to stop.
    private func handleInbox() -> Bool {
        let (commands, stopping) = inbox.take()
        for command in commands {
            switch command {
            case .begin(let submission): waiting.append(submission)
            case .resolved(let number, let resolution):
                if let transfer = transfers[number] { transfer.lookupTime = ContinuousClock.now - transfer.started }
                connect(number, resolution)
            }
        }
        if !stopping { beginWaiting() }
        return stopping
    }

    private func beginWaiting() {
        while transfers.count < configuration.maxConnections, waitingHead < waiting.count {
            let submission = waiting[waitingHead]
            waitingHead += 1
            begin(submission)
        }
        // The array is shortened rarely, so that taking from its front stays cheap.
        if waitingHead > 1024 || waitingHead == waiting.count {
            waiting.removeFirst(waitingHead)
            waitingHead = 0
        }
    }

    private func begin(_ submission: Submission) {
        let url: OutgoingURL
        switch submission.url {
        case .success(let checked): url = checked
        case .failure(let failure):
            finished(submission, .failure(failure))
            return
        }
        let number = nextNumber
        nextNumber &+= 1
        let transfer = Transfer(number, submission, url: url, policy: policy, configuration: configuration)
        transfers[number] = transfer
        if transfer.proxy != nil, case .refused(let reason) = policy.verdictBehindProxy(for: url) {
            finish(transfer, transfer.failure(.refusedAddress, "\(url.host): \(reason)"))
            return
        }
        let host = transfer.proxy?.host ?? url.host
        let known = resolver.resolve(host, patience: submission.request.timeout) { [self] resolution in
            _ = post(.resolved(number, resolution))
        }
        if let known { connect(number, known) }
    }

    private func connect(_ number: Int, _ resolution: Resolution) {
        guard let transfer = transfers[number], transfer.easy == nil else { return }
        if let proxy = transfer.proxy {
            connect(transfer, through: proxy, resolution)
            return
        }
        let host = transfer.url.host
        switch resolution {
        case .addresses(let addresses):
            if case .refused(let reason) = policy.verdict(for: transfer.url, at: addresses) {
                finish(transfer, transfer.failure(.refusedAddress, "\(host): \(reason)"))
            } else {
                transfer.addresses = addresses
                send(transfer)
            }
        case .notFound: finish(transfer, transfer.failure(.dnsNotFound, "\(host) does not exist"))
        case .temporarily: finish(transfer, transfer.failure(.dnsTemporary, "\(host) was not resolved in time"))
        case .infrastructure(let reason): finish(transfer, transfer.failure(.infrastructure, reason))
        }
    }

    /// Whatever is wrong with the proxy's name is no fault of the target.
    private func connect(_ transfer: Transfer, through proxy: ProxyServer, _ resolution: Resolution) {
        guard case .addresses(let addresses) = resolution else {
            finish(transfer, transfer.failure(.infrastructure, "the proxy \(proxy.host) cannot be resolved"))
            return
        }
        transfer.addresses = addresses
        send(transfer)
    }

    private func send(_ transfer: Transfer) {
        guard transfer.remaining > .zero else {
            finish(transfer, transfer.failure(.timeout, "the time was over before a connection was tried"))
            return
        }
        guard let easy = idleHandles.popLast() ?? EasyHandle(), easy.prepare(for: transfer, configuration),
            multi.add(easy)
        else {
            finish(transfer, transfer.failure(.infrastructure, "libcurl did not take the request"))
            return
        }
        transfer.easy = easy
    }

    private func finishDone() {
        while let (context, code) = multi.nextDone() {
            let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            guard let easy = transfer.easy else { continue }
            let outcome = transfer.outcome(code, easy)
            takeBack(easy, of: transfer)
            finish(transfer, outcome)
        }
    }

    private func takeBack(_ easy: EasyHandle, of transfer: Transfer) {
        multi.remove(easy)
        transfer.easy = nil
        idleHandles.append(easy)
    }

    private func finish(_ transfer: Transfer, _ outcome: TransferOutcome) {
        transfers[transfer.number] = nil
        finished(transfer.submission, outcome)
    }

    private func interruptAll() {
        let rest = inbox.close() + waiting[waitingHead...]
        waiting = []
        waitingHead = 0
        for transfer in transfers.values {
            if let easy = transfer.easy { takeBack(easy, of: transfer) }
            finish(transfer, transfer.failure(.interrupted, "cut because the client stops"))
        }
        for submission in rest {
            finished(submission, Submission.notBegun)
        }
        idleHandles = []
    }
}
