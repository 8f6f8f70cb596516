/* A directory with a trail in it, for tests. */
#pragma once

#include "unit.h"

#include "audit/segment.h"
#include "audit/trail.h"
#include "audit/verify.h"
#include "base/buf.h"

#define PLACE_FILE_BYTES ((uint64_t)1 << 40)

extern char place[];     /* the directory */
extern char place_key[]; /* the one of the key */

int place_make(void **state);
int place_remove(void **state);

/* As it was before there was a trail. */
void place_clear(void);

struct trail *place_open(uint64_t file_bytes);

/* A record of the kind `test` with this text. */
int place_append(struct trail *trail, const char *text, struct record_mark *ret_mark,
                 struct error *err);

/* A trail with `count` records beside those it writes itself, closed. */
void place_fill(size_t count, uint64_t file_bytes);

void place_path(const char *name, char path[256]);
void place_read(const char *name, struct buf *out);
void place_write(const char *name, const void *data, size_t len);

/* Verifies with our key: returns the number of problems; `ret_text` has all findings. */
uint64_t place_verify(struct buf *ret_text, struct verify_result *ret_result);
uint64_t place_verify_against(const struct record_mark *against, struct buf *ret_text,
                              struct verify_result *ret_result);

/* Notes of the last trail that was opened. */
extern char place_notes[1024];
