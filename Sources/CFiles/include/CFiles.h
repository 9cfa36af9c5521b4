#pragma once
// A Linux call that Swift's Glibc module leaves out.

// renameat2(2) with RENAME_NOREPLACE: 0, or -1 with errno; EINVAL where the file system cannot do it.
int cfiles_rename_new(const char *from, const char *to);
