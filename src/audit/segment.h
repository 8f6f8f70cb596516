/* The files of a trail: <first sequence number>.jsonl, sixteen digits, oldest first; each is a part
 * of one chain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/record.h"
#include "base/error.h"

#define SEGMENT_NAME_SIZE 32

void segment_name(uint64_t first_seq, char name[SEGMENT_NAME_SIZE]);

/* The first sequence number of all of them, ascending. The caller frees *ret_list. */
int segment_list(int dirfd, uint64_t **ret_list, size_t *ret_count, struct error *err);

/* For reading, or, with `is_ours`, for writing, and made where it is not there. Returns the
 * descriptor. */
int segment_open(int dirfd, uint64_t first_seq, bool is_ours, struct error *err);

/* --- one line after the other --- */

struct segment_reader {
    int fd;           /* not the reader's */
    uint64_t offset;  /* of the first byte of `text` */
    uint64_t end;     /* nothing is read from here on */
    uint64_t line_at; /* where the line that was given begins */
    struct buf text;
    size_t used; /* of the text: lines that were given */
};

void segment_read_from(struct segment_reader *reader, int fd, uint64_t offset, uint64_t end);
void segment_read_done(struct segment_reader *reader);

/* The next line without its newline; it holds until the next call. 1: here it is; 0: there is none,
 * and reader->offset is where what remains, if anything does, begins. E_TOO_LARGE: it has no end
 * within RECORD_BYTES. */
int segment_next(struct segment_reader *reader, const char **ret_line, size_t *ret_len,
                 struct error *err);

/* The last whole record that ends at or before `end`: where it ends, its place, and whether who
 * knows the secret wrote it; *ret_end is 0 when there is none. What lies behind it is torn. */
struct segment_last {
    struct record_head head;
    uint64_t end;
    bool is_ours;
};

int segment_find_last(int fd, uint64_t end, const uint8_t secret[SHA256_BYTES],
                      struct segment_last *ret_last, struct error *err);
