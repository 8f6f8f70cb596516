/* Tokens of pages: the web console gets one for a code that works once, and that somebody with a
 * token asked for. It has the rights of that token, is known to this process alone, and ends after
 * some hours, when it is given back, or when that token is removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "admit/caller.h"
#include "base/error.h"
#include "wire/pack.h"

#define PAGE_CODE_LEN 32 /* 128 random bits, in hexadecimal */
#define PAGE_CODE_S   60
#define PAGE_TOKEN_S  43200 /* 12 hours */

struct page_tokens;

struct page_tokens *page_tokens_new(void); /* NULL: out of memory */
void page_tokens_free(struct page_tokens *pages);

/* A code for this caller. Of too many the oldest of the same caller goes. E_BUSY: others have all.
 */
int page_code_make(struct page_tokens *pages, struct caller *caller, uint64_t now_ns,
                   char ret_code[PAGE_CODE_LEN + 1], struct error *err);

/* The token for a code, which is used up. E_AUTH: the code is unknown, used or too old. */
int page_code_redeem(struct page_tokens *pages, struct span code, uint64_t now_ns,
                     char ret_token[TOKEN_LEN + 1], struct caller **ret_caller, struct error *err);

/* The owner of that token, and its number, which is never 0; NULL: unknown, or over. All are
 * compared, whichever it is. */
struct caller *page_token_find(struct page_tokens *pages, const uint8_t hash[SHA256_BYTES],
                               uint64_t now_ns, unsigned *ret_number);

/* Whether the token of that number has not ended. */
bool page_token_lives(const struct page_tokens *pages, unsigned number, uint64_t now_ns);
void page_token_end(struct page_tokens *pages, unsigned number);
