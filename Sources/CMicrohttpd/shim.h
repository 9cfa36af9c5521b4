#pragma once
#include <microhttpd.h>

// Swift imports neither variadic functions nor unions behind enums; these are the calls it needs, typed.

/// Called with the request target as it was received, before anything in it is decoded; its result is the context of
/// the request.
typedef void *(*entitled_mhd_target_callback)(void *context, const char *target, struct MHD_Connection *connection);

/// What the daemon calls, each with `context` first.
struct entitled_mhd_callbacks {
    MHD_AcceptPolicyCallback accept;
    MHD_NotifyConnectionCallback connection;
    entitled_mhd_target_callback target;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    void *context;
};

/// Starts a daemon in poll mode on a listening socket. Never epoll: it sleeps on batches that are exactly full.
/// The strict parser is asked for where the library has one (1.0 and later); in 0.9 that switch answers twice.
static inline struct MHD_Daemon *entitled_mhd_start(
    int listening, unsigned int threads, unsigned int connections, size_t memory,
    const struct entitled_mhd_callbacks *callbacks)
{
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0,
        callbacks->accept, callbacks->context, callbacks->access, callbacks->context,
        MHD_OPTION_LISTEN_SOCKET, listening,
        MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->context,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, callbacks->context,
        MHD_OPTION_STRICT_FOR_CLIENT, MHD_VERSION >= 0x01000000 ? 1 : 0,
        MHD_OPTION_END);
}

/// The socket of a connection, or -1.
static inline int entitled_mhd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? (int)info->connect_fd : -1;
}

/// The address of the other side, or NULL.
static inline const struct sockaddr *entitled_mhd_peer(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : 0;
}

/// What NOTIFY_CONNECTION stored for this connection, or NULL.
static inline void *entitled_mhd_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : 0;
}

/// Bytes from the method to the end of the empty line after the header fields; 0 before they are complete.
static inline size_t entitled_mhd_head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}
