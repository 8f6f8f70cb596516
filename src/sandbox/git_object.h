/* Objects of git, each in a file of its own: does the content have the name that it claims?
 *
 * Git finds an object by the digest of its content and does not compute it again when it reads one.
 * Whoever can put a file of another content under a name changes what every commit with that object
 * in it means.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of one object, packed and unpacked. Git itself puts files of more than 512 MiB
 * into packs. */
#define GIT_OBJECT_BYTES (128u << 20)

/* The most bytes unpacked for each packed one, beyond the first GIT_OBJECT_FREE bytes. Text rarely
 * has a ratio of more than 20. A few bytes that unpack to very many would let a program that writes
 * little make the check expensive. */
#define GIT_OBJECT_RATIO 32u
#define GIT_OBJECT_FREE  (8u << 20)

/* Takes the two digits of the directory and the rest of the name. False: this is no object's name.
 */
bool git_object_name(const char *directory, const char *name, uint8_t ret_id[32],
                     unsigned *ret_bytes);

/* `data` is the whole file. NULL: it is the object `id` (of 20 or 32 bytes). Otherwise the reason
 * why it is not, for people. */
const char *git_object_check(const uint8_t *data, size_t len, const uint8_t *id, unsigned id_bytes);
