#ifndef CEMBEDDED_H
#define CEMBEDDED_H

#include <stddef.h>

/// The bytes of a file that is part of the program, by its name; NULL if there is none.
const unsigned char *entitled_embedded(const char *name, size_t *count);

#endif
