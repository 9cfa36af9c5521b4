import CCurl

/// libcurl's callbacks of one transfer: plain C functions whose context is the transfer, which the loop keeps alive
/// until it has taken the handle back.
enum TransferCallbacks {
    static func install(on easy: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer, keep: (CURLcode) -> Void)
    {
        keep(ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context))
        keep(ccurl_set_write(easy, CURLOPT_WRITEFUNCTION, body))
        keep(ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context))
        keep(ccurl_set_write(easy, CURLOPT_HEADERFUNCTION, header))
        keep(ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context))
        keep(ccurl_set_open_socket(easy, openSocket))
        keep(ccurl_set_pointer(easy, CURLOPT_PREREQDATA, context))
        keep(ccurl_set_before_request(easy, beforeRequest))
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Another count than was given ends the transfer (CURLE_WRITE_ERROR).
    private static let body: curl_write_callback = { data, size, count, context in
        let length = size &* count
        guard let transfer = transfer(context) else { return 0 }
        return transfer.receive(body: UnsafeRawBufferPointer(start: data, count: length)) ? length : 0
    }

    private static let header: curl_write_callback = { data, size, count, context in
        let length = size &* count
        guard let transfer = transfer(context) else { return 0 }
        return transfer.receive(header: UnsafeRawBufferPointer(start: data, count: length)) ? length : 0
    }

    private static let openSocket: curl_opensocket_callback = { context, _, address in
        guard let transfer = transfer(context), let address else { return -1 }
        return transfer.openSocket(address)
    }

    /// The second line of defence, which also sees connections that are used again; the first is `openSocket`.
    private static let beforeRequest: curl_prereq_callback = { context, address, _, _, _ in
        guard let transfer = transfer(context), let address else { return Int32(CURL_PREREQFUNC_ABORT) }
        let allowed = transfer.mayUseConnection(to: String(cString: address))
        return Int32(allowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
    }
}
