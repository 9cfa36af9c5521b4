import CCurl

/// libcurl's multi handle, driven by one thread: it says which sockets to watch and when to be called again.
final class MultiHandle {
    private let raw: UnsafeMutableRawPointer
    private let poller: Poller
    /// When libcurl wants to be called without a socket being ready.
    private(set) var timer: ContinuousClock.Instant?

    private static let initialized: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Nil without memory.
    init?(poller: Poller, idleConnections: Int) {
        guard MultiHandle.initialized, let raw = curl_multi_init() else { return nil }
        self.raw = raw
        self.poller = poller
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, idleConnections)
        ccurl_multi_set_pointer(raw, CURLMOPT_SOCKETDATA, context)
        ccurl_multi_set_socket(raw, MultiHandle.socketChanged)
        ccurl_multi_set_pointer(raw, CURLMOPT_TIMERDATA, context)
        ccurl_multi_set_timer(raw, MultiHandle.timerChanged)
    }

    deinit {
        ccurl_multi_set_socket(raw, nil)
        ccurl_multi_set_timer(raw, nil)
        curl_multi_cleanup(raw)
    }

    /// Whether libcurl took it.
    func add(_ easy: EasyHandle) -> Bool {
        curl_multi_add_handle(raw, easy.raw) == CURLM_OK
    }

    /// Never inside one of libcurl's callbacks.
    func remove(_ easy: EasyHandle) {
        curl_multi_remove_handle(raw, easy.raw)
    }

    func act(on descriptor: Int32, _ ready: Poller.Interest) {
        var bits: Int32 = 0
        // After an error libcurl looks at the socket itself (no bits), so that a response sent before it is still read.
        if !ready.contains(.error) {
            if ready.contains(.readable) { bits |= Int32(CURL_CSELECT_IN) }
            if ready.contains(.writable) { bits |= Int32(CURL_CSELECT_OUT) }
        }
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, bits, &running)
    }

    func actOnTimer(now: ContinuousClock.Instant) {
        guard let due = timer, due <= now else { return }
        timer = nil
        var running: Int32 = 0
        curl_multi_socket_action(raw, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    /// The next transfer that ended: its context and its code.
    func nextDone() -> (UnsafeMutableRawPointer, CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(raw, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            guard ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { continue }
            return (context, code)
        }
        return nil
    }

    private static let socketChanged: curl_socket_callback = { _, descriptor, what, context, _ in
        guard let context else { return 0 }
        let multi = Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
        switch what {
        case Int32(CURL_POLL_REMOVE): multi.poller.forget(descriptor)
        case Int32(CURL_POLL_IN): multi.poller.watch(descriptor, .readable)
        case Int32(CURL_POLL_OUT): multi.poller.watch(descriptor, .writable)
        case Int32(CURL_POLL_INOUT): multi.poller.watch(descriptor, [.readable, .writable])
        default: break
        }
        return 0
    }

    /// May be called inside any other call of libcurl: only notes the time. -1 is none.
    private static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
        guard let context else { return 0 }
        let multi = Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
        multi.timer = milliseconds < 0 ? nil : ContinuousClock.now + .milliseconds(milliseconds)
        return 0
    }
}
