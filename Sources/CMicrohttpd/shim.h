#pragma once
#include <stdbool.h>
#include <microhttpd.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

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

/// TLS 1.3 and 1.2 with forward secrecy and authenticated encryption only (RFC 9325 §4.2).
#define ENTITLED_TLS_PRIORITIES \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:" \
    "-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD:%SERVER_PRECEDENCE"

/// The daemon's own certificate: there is none. Each connection gets its own by `entitled_mhd_use_credentials`, and one
/// that did not cannot be set up.
static inline int entitled_mhd_no_certificate(
    gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **certificates,
    unsigned int *count, gnutls_ocsp_data_st **responses, unsigned int *responseCount, gnutls_privkey_t *key,
    unsigned int *flags)
{
    (void)session, (void)info, (void)certificates, (void)count, (void)responses, (void)responseCount, (void)key;
    (void)flags;
    return -1;
}

/// Starts a daemon in poll mode on a listening socket. Never epoll: it sleeps on batches that are exactly full.
/// The strict parser is asked for where the library has one (1.0 and later); in 0.9 that switch answers twice.
static inline struct MHD_Daemon *entitled_mhd_start(
    int listening, unsigned int threads, unsigned int connections, size_t memory, bool tls,
    const struct entitled_mhd_callbacks *callbacks)
{
    struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)ENTITLED_TLS_PRIORITIES},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)entitled_mhd_no_certificate},
        {MHD_OPTION_END, 0, 0},
    };
    struct MHD_OptionItem no_options[] = {{MHD_OPTION_END, 0, 0}};
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0,
        callbacks->accept, callbacks->context, callbacks->access, callbacks->context,
        MHD_OPTION_LISTEN_SOCKET, listening,
        MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->context,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, callbacks->context,
        MHD_OPTION_ARRAY, tls ? tls_options : no_options,
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

/// The TLS session of a connection, or NULL.
static inline gnutls_session_t entitled_mhd_session(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? (gnutls_session_t)info->tls_session : 0;
}

/// Gives a new connection the certificate that it shows. `credentials` must live as long as the connection.
static inline bool entitled_mhd_use_credentials(
    struct MHD_Connection *connection, gnutls_certificate_credentials_t credentials)
{
    gnutls_session_t session = entitled_mhd_session(connection);
    return session && gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) == GNUTLS_E_SUCCESS;
}

/// Frees what GnuTLS allocated for its caller; its own name for this is a variable, which Swift does not import safely.
static inline void entitled_gnutls_free(void *memory)
{
    gnutls_free(memory);
}
