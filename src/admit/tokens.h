/* The tokens' file: names, what each may do, and of the token itself its SHA-256 alone. A token is
 * 256 random bits, so nothing slower than a plain hash is needed.
 *
 * The file is its user's alone (0600), or it is not read. It is replaced whole, under a lock; a
 * server that runs sees the new one with its next request (admit/auth.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/rights.h"
#include "base/date.h"
#include "base/error.h"
#include "base/sha256.h"

/* "bj_" and 256 bits in hex. */
#define TOKEN_LEN 67

/* With the NUL. Names are letters, digits, `_` and `-`. */
#define TOKEN_NAME_SIZE 33

/* More would make each check slow: all are compared, always. */
#define TOKENS_MAX 1024

/* The one that is made at the first start, and the user himself over the Unix socket. */
#define TOKEN_FIRST "default"

/* The trail's word for the command line. No token has that name. */
#define TOKEN_LOCAL "local"

/* Data of a token belongs to its id, which no later token of the same name has. */
#define TOKEN_ID_SIZE     32
#define TOKEN_KEEPER_SIZE (TOKEN_NAME_SIZE + TOKEN_ID_SIZE)

struct token {
    char name[TOKEN_NAME_SIZE];
    char id[TOKEN_ID_SIZE]; /* "": it is older than ids, and what it owns belongs to its name */
    uint8_t hash[SHA256_BYTES];
    char created[DATE_SIZE]; /* when, for people */
    struct rights rights;
};

struct tokens {
    struct token *items;
    size_t count;
};

/* Random, as text. */
int token_make(char token[TOKEN_LEN + 1], struct error *err);
bool token_is_name(const char *text);

/* Whether others can read or change it: then it holds no secret. */
int token_check_file(int fd, const char *path, struct error *err);

/* No file is no tokens. */
int tokens_load(const char *path, struct tokens *ret_tokens, struct error *err);
void tokens_done(struct tokens *tokens);
struct token *tokens_find(const struct tokens *tokens, const char *name);

/* The owner of what outlives runs (store/store.h): the name, and behind a colon the id. */
void token_keeper(const struct token *token, char ret_keeper[TOKEN_KEEPER_SIZE]);

/* Whether tokens_add() would take that name: E_INVALID, E_TOO_LARGE as there. */
int tokens_check_new(const struct tokens *tokens, const char *name, struct error *err);

/* Makes a token, adds its hash to the file and returns it, which nobody can do a second time.
 * E_INVALID: the name is taken or is none. */
int tokens_add(const char *path, const char *name, const struct rights *rights,
               char ret_token[TOKEN_LEN + 1], struct error *err);

/* E_NOT_FOUND: there is none of that name. *ret_keeper: whose things are nobody's now. */
int tokens_remove(const char *path, const char *name, char ret_keeper[TOKEN_KEEPER_SIZE],
                  struct error *err);
