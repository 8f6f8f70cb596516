/* Shared by git_index.c (entries) and git_index_tree.c (the extension with directories). */
#pragma once

#include <stdbool.h>

#include "sandbox/git_hash.h"
#include "sandbox/git_index.h"

#define GIT_MODE_FILE       0100644u
#define GIT_MODE_EXECUTABLE 0100755u
#define GIT_MODE_LINK       0120000u
#define GIT_MODE_SUBMODULE  0160000u
#define GIT_MODE_DIRECTORY  0040000u /* of a sparse index */

struct index_entry {
    const char *path; /* with a NUL behind it */
    size_t len;
    uint32_t mode;
    unsigned stage;
    const uint8_t *id;
};

struct index_file {
    const uint8_t *data;
    size_t entries_end; /* where the extensions begin */
    size_t end;         /* without the checksum */
    unsigned id_bytes;
    struct index_entry *entries;
    size_t n_entries;
    char *paths; /* of version 4, where they are not whole in the file */
    bool has_directories;
    size_t work; /* steps that are left for comparing paths */
};

/* Whether the extension TREE says of each directory what its entries make it: git takes the
 * contents of the next commit from there. */
bool index_tree_is_true(const struct index_file *file, const uint8_t *data, size_t len);
