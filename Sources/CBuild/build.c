#define _GNU_SOURCE
#include "CBuild.h"
#include <elf.h>
#include <link.h>
#include <string.h>

const char *entitled_revision(void) {
#ifdef ENTITLED_REVISION
    return ENTITLED_REVISION;
#else
    return NULL;
#endif
}

struct search {
    unsigned char *bytes;
    size_t capacity;
    size_t length;
};

static size_t padded(size_t length) { return (length + 3) & ~(size_t)3; }

/// Called for the program itself first; the libraries after it do not count.
static int find(struct dl_phdr_info *object, size_t size, void *argument) {
    (void)size;
    struct search *search = argument;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const char *at = (const char *)(object->dlpi_addr + segment->p_vaddr);
        const char *end = at + segment->p_memsz;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note;
            size_t length = padded(note->n_namesz) + padded(note->n_descsz);
            if ((size_t)(end - name) < length) break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0
                && note->n_descsz <= search->capacity) {
                memcpy(search->bytes, name + padded(note->n_namesz), note->n_descsz);
                search->length = note->n_descsz;
                return 1;
            }
            at = name + length;
        }
    }
    return 1;
}

size_t entitled_build_id(unsigned char *bytes, size_t capacity) {
    struct search search = {bytes, capacity, 0};
    dl_iterate_phdr(find, &search);
    return search.length;
}
