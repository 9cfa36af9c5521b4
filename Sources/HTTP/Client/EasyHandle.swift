import Base
import CCurl

/// One of libcurl's easy handles, used for one transfer after the other.
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    private let errorText = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// libcurl reads both lists until the transfer ends.
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var pins: UnsafeMutablePointer<curl_slist>?
    /// The first option that libcurl did not take.
    private var code = CURLE_OK

    /// Nil without memory.
    init?() {
        guard let raw = curl_easy_init() else { return nil }
        self.raw = raw
        errorText.initialize(repeating: 0)
    }

    deinit {
        curl_easy_cleanup(raw)
        freeLists()
        errorText.deallocate()
    }

    /// Sets everything for this transfer; false if libcurl did not take an option, and nothing may be sent.
    func prepare(for transfer: Transfer, _ configuration: HTTPClientConfiguration) -> Bool {
        curl_easy_reset(raw)
        freeLists()
        code = CURLE_OK
        errorText.update(repeating: 0)
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        set(CURLOPT_PRIVATE, context)
        set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText.baseAddress))
        setTarget(transfer, configuration.proxy)
        setIsolation(configuration)
        setProxy(configuration)
        setTimes(transfer.remaining, configuration)
        setMessage(transfer.submission.request, configuration)
        TransferCallbacks.install(on: raw, context) { [self] in keep($0) }
        return code == CURLE_OK
    }

    /// What libcurl says about the failure, as printable ASCII.
    var errorMessage: String {
        SafeText.make(errorText.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, limit: 200)
    }

    func number(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(raw, info, &value) == CURLE_OK ? value : 0
    }

    /// In microseconds since libcurl began; 0 for what did not happen.
    func microseconds(_ info: CURLINFO) -> Int64 {
        var value = curl_off_t(0)
        return ccurl_get_size(raw, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    /// Nil before there was a connection.
    var peer: IPAddress? {
        var text: UnsafeMutablePointer<CChar>?
        guard ccurl_get_string(raw, CURLINFO_PRIMARY_IP, &text) == CURLE_OK, let text else { return nil }
        return IPAddress(parsing: String(cString: text))
    }

    private func setTarget(_ transfer: Transfer, _ proxy: ProxyServer?) {
        set(CURLOPT_URL, transfer.url.text)
        let (host, port) = proxy.map { ($0.host, $0.port) } ?? (transfer.url.host, transfer.url.port)
        guard IPAddress(parsing: host) == nil else { return }
        // The vetted addresses become libcurl's answer for the name. `+`: libcurl drops them when they are old.
        let addresses = transfer.addresses.map { address in
            if case .v6 = address { "[\(address)]" } else { "\(address)" }
        }
        let pin = "+\(host):\(port):\(addresses.joined(separator: ","))"
        append(pin, to: &pins)
        keep(ccurl_set_list(raw, CURLOPT_RESOLVE, pins))
        // Longer than any transfer takes to connect: libcurl must never ask the system itself.
        set(CURLOPT_DNS_CACHE_TIMEOUT, 600)
    }

    /// No redirects, no credentials from files, no signals, no old protocols.
    private func setIsolation(_ configuration: HTTPClientConfiguration) {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_NETRC, 0)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_HTTP_VERSION, Int(configuration.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = configuration.caFile {
            set(CURLOPT_CAINFO, file)
            keep(ccurl_set_string(raw, CURLOPT_CAPATH, nil))
        }
    }

    /// The proxy that is configured, or none: never one of the environment.
    private func setProxy(_ configuration: HTTPClientConfiguration) {
        guard let proxy = configuration.proxy else {
            set(CURLOPT_PROXY, "")
            set(CURLOPT_NOPROXY, "*")
            return
        }
        set(CURLOPT_PROXY, proxy.origin)
        set(CURLOPT_NOPROXY, "")
        // Always a tunnel: what a proxy answers itself must not pass for the consumer's answer.
        if proxy.scheme != .socks5h { set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        if let user = proxy.user { set(CURLOPT_PROXYUSERNAME, user.exposed) }
        if let password = proxy.password { set(CURLOPT_PROXYPASSWORD, password.exposed) }
        set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        if let file = configuration.caFile {
            set(CURLOPT_PROXY_CAINFO, file)
            keep(ccurl_set_string(raw, CURLOPT_PROXY_CAPATH, nil))
        }
    }

    private func setTimes(_ remaining: Duration, _ configuration: HTTPClientConfiguration) {
        let total = EasyHandle.milliseconds(remaining)
        set(CURLOPT_TIMEOUT_MS, total)
        set(CURLOPT_CONNECTTIMEOUT_MS, min(total, EasyHandle.milliseconds(configuration.connectTimeout)))
        // Addresses are looked up and vetted again when a connection ends.
        set(CURLOPT_MAXAGE_CONN, 60)
        set(CURLOPT_MAXLIFETIME_CONN, 300)
    }

    private func setMessage(_ request: OutgoingRequest, _ configuration: HTTPClientConfiguration) {
        switch request.method {
        case "GET": set(CURLOPT_HTTPGET, 1)
        case "HEAD": set(CURLOPT_NOBODY, 1)
        default:
            keep(ccurl_set_size(raw, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
            // libcurl copies so many bytes.
            request.body.withUnsafeBytes { bytes in
                let start = bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0) }
                if let start { set(CURLOPT_COPYPOSTFIELDS, start) } else { set(CURLOPT_COPYPOSTFIELDS, "") }
            }
            if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
        }
        if request.needsNewConnection { set(CURLOPT_FRESH_CONNECT, 1) }
        set(CURLOPT_USERAGENT, configuration.userAgent)
        for (name, value) in request.headers {
            // libcurl takes `name:` for "leave this header out", and `name;` for an empty one.
            let empty = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            append(empty ? "\(name);" : "\(name): \(value)", to: &headers)
        }
        // Waiting for "100 Continue" would cost a second with servers that do not know it.
        append("Expect:", to: &headers)
        if !request.headers.contains(where: { $0.0.lowercased() == "content-type" }) {
            append("Content-Type:", to: &headers)
        }
        keep(ccurl_set_list(raw, CURLOPT_HTTPHEADER, headers))
    }

    /// At least one (zero would mean no limit), at most an hour; parts count as whole.
    private static func milliseconds(_ duration: Duration) -> Int {
        Int(min(max(duration.milliseconds, 0), 3_599_999) + 1)
    }

    private func freeLists() {
        curl_slist_free_all(headers)
        curl_slist_free_all(pins)
        headers = nil
        pins = nil
    }

    private func append(_ line: String, to list: inout UnsafeMutablePointer<curl_slist>?) {
        guard let longer = curl_slist_append(list, line) else {
            keep(CURLE_OUT_OF_MEMORY)
            return
        }
        list = longer
    }

    private func keep(_ code: CURLcode) {
        if self.code == CURLE_OK { self.code = code }
    }

    private func set(_ option: CURLoption, _ value: Int) { keep(ccurl_set_long(raw, option, value)) }
    private func set(_ option: CURLoption, _ value: String) { keep(ccurl_set_string(raw, option, value)) }
    private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        keep(ccurl_set_pointer(raw, option, value))
    }
}
