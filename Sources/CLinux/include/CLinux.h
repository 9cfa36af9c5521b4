#pragma once
// Linux calls that Swift's Glibc module leaves out.
#include <stdint.h>

int clinux_epoll_create(void);
// events: 1 readable, 2 writable; op: 1 add, 2 change, 3 remove. 0, or -1 with errno.
int clinux_epoll_control(int epoll, int op, int fd, uint32_t events);
// Fills fds and events (1 readable, 2 writable, 4 error or hang-up) with at most capacity entries; their count, or -1.
int clinux_epoll_wait(int epoll, int *fds, uint32_t *events, int capacity, int timeout_ms);
int clinux_eventfd(void);
// The name servers of resolv.conf(5): fills one socket address for each, of 28 bytes at most, with its length. Their
// count, or -1.
int clinux_name_servers(void *addresses, uint32_t *lengths, int capacity);
// Of <sys/socket.h>, which Swift finds in the module of whichever C library was loaded first: SOCK_STREAM, SOCK_DGRAM,
// SOCK_CLOEXEC, SOCK_NONBLOCK.
extern const int clinux_stream;
extern const int clinux_datagram;
extern const int clinux_close_on_exec;
extern const int clinux_nonblocking;
// address: struct sockaddr of any kind.
int clinux_address_family(const void *address);
