import CMicrohttpd
import Glibc
import Synchronization

/// libmicrohttpd's callbacks: each finds its object and passes on. The server keeps the core alive while the daemon runs,
/// and the daemon holds a reference to each connection from its start to its close.
enum Callbacks {
    static func make(_ core: ServerCore) -> entitled_mhd_callbacks {
        entitled_mhd_callbacks(
            accept: accept, connection: connection, target: target, access: access, completed: completed,
            context: Unmanaged.passUnretained(core).toOpaque())
    }

    private static let accept: MHD_AcceptPolicyCallback = { context, address, _ in
        guard let context else { return .NO }
        return Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue().admits(PeerAddress(address)) ? .YES : .NO
    }

    private static let connection: MHD_NotifyConnectionCallback = { context, connection, stored, event in
        guard let context, let connection, let stored else { return }
        if event == .CONNECTION_NOTIFY_STARTED {
            let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
            let identity = core.identity.withLock { $0 }
            let made = HTTPConnection(
                core, socket: entitled_mhd_socket(connection), remoteAddress: SocketAddress.host(of: connection),
                peer: core.counted(PeerAddress(entitled_mhd_peer(connection))), identity: identity)
            if let identity {
                // Without a certificate the handshake fails, and with it the connection.
                _ = entitled_mhd_use_credentials(connection, identity.credentials)
            }
            stored.pointee = Unmanaged.passRetained(made).toOpaque()
            core.opened(made)
        } else if let opened = stored.pointee {
            stored.pointee = nil
            Unmanaged<HTTPConnection>.fromOpaque(opened).takeRetainedValue().close()
        }
    }

    private static let target: entitled_mhd_target_callback = { _, target, connection in
        guard let connection, let stored = entitled_mhd_context(connection) else { return nil }
        Unmanaged<HTTPConnection>.fromOpaque(stored).takeUnretainedValue().begin(target: target)
        return stored
    }

    private static let access: MHD_AccessHandlerCallback = { _, connection, _, method, version, part, size, stored in
        guard let connection, let method, let version, let size, let opened = stored?.pointee else { return .NO }
        return Unmanaged<HTTPConnection>.fromOpaque(opened).takeUnretainedValue()
            .proceed(connection, method: method, version: version, part: part, size: size)
    }

    private static let completed: MHD_RequestCompletedCallback = { _, _, stored, how in
        guard let opened = stored?.pointee else { return }
        stored?.pointee = nil
        Unmanaged<HTTPConnection>.fromOpaque(opened).takeUnretainedValue()
            .completed(inOrder: how == .REQUEST_TERMINATED_COMPLETED_OK)
    }
}
