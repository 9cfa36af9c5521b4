#pragma once
#include <zlib.h>

// zlib's own is a macro, which Swift does not import. 16: gzip (RFC 1952), and no other wrapper.
static inline int czlib_begin_gunzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}
