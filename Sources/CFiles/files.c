#define _GNU_SOURCE
#include "CFiles.h"
#include <fcntl.h>
#include <stdio.h>

int cfiles_rename_new(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}
