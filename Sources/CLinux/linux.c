#define _GNU_SOURCE
#include "CLinux.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

const int clinux_stream = SOCK_STREAM;
const int clinux_datagram = SOCK_DGRAM;
const int clinux_close_on_exec = SOCK_CLOEXEC;
const int clinux_nonblocking = SOCK_NONBLOCK;

int clinux_address_family(const void *address) { return ((const struct sockaddr *)address)->sa_family; }

int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_epoll_control(int epoll, int op, int fd, uint32_t events) {
    struct epoll_event event = {0};
    event.data.fd = fd;
    if (events & 1) event.events |= EPOLLIN;
    if (events & 2) event.events |= EPOLLOUT;
    int operation = op == 1 ? EPOLL_CTL_ADD : op == 2 ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
    return epoll_ctl(epoll, operation, fd, &event);
}

int clinux_epoll_wait(int epoll, int *fds, uint32_t *events, int capacity, int timeout_ms) {
    struct epoll_event ready[256];
    int count = epoll_wait(epoll, ready, capacity < 256 ? capacity : 256, timeout_ms);
    for (int i = 0; i < count; i++) {
        fds[i] = ready[i].data.fd;
        events[i] = (ready[i].events & EPOLLIN ? 1 : 0) | (ready[i].events & EPOLLOUT ? 2 : 0)
            | (ready[i].events & (EPOLLERR | EPOLLHUP) ? 4 : 0);
    }
    return count;
}

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
