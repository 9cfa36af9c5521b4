#ifndef CBUILD_H
#define CBUILD_H

#include <stddef.h>

/// The revision that the build was told (`ENTITLED_REVISION`); NULL if it was told none.
const char *entitled_revision(void);

/// Copies the build id that the linker made of the running program's content (`NT_GNU_BUILD_ID`).
///
/// Returns its length; 0 if there is none, or if it does not fit.
size_t entitled_build_id(unsigned char *bytes, size_t capacity);

#endif
