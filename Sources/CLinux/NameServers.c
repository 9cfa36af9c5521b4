#include "CLinux.h"
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

int clinux_name_servers(void *addresses, uint32_t *lengths, int capacity) {
    struct __res_state state;
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) != 0) return -1;
    int count = 0;
    for (int i = 0; i < MAXNS && count < capacity; i++) {
        const void *address = NULL;
        if (i < state.nscount && state.nsaddr_list[i].sin_family == AF_INET) {
            address = &state.nsaddr_list[i];
            lengths[count] = sizeof(struct sockaddr_in);
        } else if (state._u._ext.nsaddrs[i] != NULL) {
            address = state._u._ext.nsaddrs[i];
            lengths[count] = sizeof(struct sockaddr_in6);
        }
        if (address == NULL) continue;
        memcpy((char *)addresses + 28 * count, address, lengths[count]);
        count++;
    }
    res_nclose(&state);
    return count;
}
