#include "admit/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/name.h"
#include "base/toml.h"

int token_make(char token[TOKEN_LEN + 1], struct error *err)
{
    unsigned char chance[32];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return error_errno(err, "getrandom");
    (void)snprintf(token, TOKEN_LEN + 1, "bj_");
    hex_write(chance, sizeof(chance), token + 3);
    explicit_bzero(chance, sizeof(chance));
    return 0;
}

bool token_is_name(const char *text)
{
    return name_is_plain(text, TOKEN_NAME_SIZE - 1, false);
}

void token_keeper(const struct token *token, char ret_keeper[TOKEN_KEEPER_SIZE])
{
    (void)snprintf(ret_keeper, TOKEN_KEEPER_SIZE, "%s%s%s", token->name, *token->id ? ":" : "",
                   token->id);
}

/* Names that stand for something else. */
static int check_reserved(const char *name, struct error *err)
{
    if (strcmp(name, TOKEN_FIRST) == 0)
        return error_set(err, E_INVALID, "`%s` is reserved for the first token of the server",
                         name);
    if (strcmp(name, TOKEN_LOCAL) == 0) {
        error_set(err, E_INVALID, "`%s` is reserved: the audit trail uses it for the command line",
                  name);
        return error_hint(err, "choose another name");
    }
    return 0;
}

int token_check_file(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "token file `%s`", path);
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    error_set(err, E_DENIED, "the token file `%s` can be read or changed by others", path);
    return error_hint(err, "chmod 600 the file, or delete it to get a new token");
}

/* --- reading --- */

static int read_key(struct token *token, const char *key, const json_t *value, struct error *err)
{
    const char *text = json_string_value(value);

    if (strcmp(key, "hash") == 0)
        return text && sha256_from_hex(text, token->hash) == 0
                   ? 0
                   : error_set(err, E_INVALID, "`hash`: expected 64 hexadecimal digits");
    if (strcmp(key, "created") == 0) {
        if (!text || strlen(text) >= sizeof(token->created))
            return error_set(err, E_INVALID, "`created`: expected a time");
        memcpy(token->created, text, strlen(text) + 1);
        return 0;
    }
    if (strcmp(key, "id") == 0) {
        if (!text || strlen(text) >= sizeof(token->id) ||
            !name_is_plain(text, sizeof(token->id) - 1, false))
            return error_set(err, E_INVALID, "`id`: expected what `belljar token add` wrote");
        memcpy(token->id, text, strlen(text) + 1);
        return 0;
    }
    return rights_set_json(&token->rights, key, value, err);
}

static int read_token(struct token *token, const char *name, json_t *table, struct error *err)
{
    const char *key;
    json_t *value;

    if (!token_is_name(name))
        return error_set(err, E_INVALID, "`%.80s` is not a name for a token", name);
    if (check_reserved(name, err) < 0)
        return -1;
    if (!json_is_object(table) || !json_object_get(table, "hash"))
        return error_set(err, E_INVALID, "`%s` has no `hash`", name);
    memcpy(token->name, name, strlen(name) + 1);
    rights_init(&token->rights);
    json_object_foreach(table, key, value)
    {
        if (read_key(token, key, value, err) < 0)
            return error_wrap(err, "[%s]", name);
    }
    return 0;
}

static int read_tree(json_t *tree, struct tokens *tokens, struct error *err)
{
    const char *name;
    json_t *table;

    if (json_object_size(tree) > TOKENS_MAX)
        return error_set(err, E_TOO_LARGE, "there are more than %d tokens", TOKENS_MAX);
    tokens->items = calloc(json_object_size(tree) + 1, sizeof(*tokens->items));
    if (!tokens->items)
        return error_memory(err);
    json_object_foreach(tree, name, table)
    {
        if (read_token(&tokens->items[tokens->count], name, table, err) < 0)
            return -1;
        tokens->count++;
    }
    return 0;
}

int tokens_load(const char *path, struct tokens *ret_tokens, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    cleanup(buf_done) struct buf text;
    struct tokens tokens = {0};
    json_t *tree = NULL;
    int r;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    if (fd < 0 && errno != ENOENT)
        return error_errno(err, "token file `%s`", path);
    if (fd >= 0) {
        if (token_check_file(fd, path, err) < 0 || buf_read_fd(&text, fd, err) < 0 ||
            toml_parse(path, buf_str(&text), text.len, &tree, NULL, err) < 0)
            return -1;
        r = read_tree(tree, &tokens, err);
        json_decref(tree);
        if (r < 0) {
            tokens_done(&tokens);
            return error_wrap(err, "%s", path);
        }
    }
    *ret_tokens = tokens;
    return 0;
}

void tokens_done(struct tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct tokens){0};
}

struct token *tokens_find(const struct tokens *tokens, const char *name)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->items[i].name, name) == 0)
            return &tokens->items[i];
    return NULL;
}

/* --- writing --- */

static int write_text(const struct tokens *tokens, struct buf *out, struct error *err)
{
    int r = buf_add_str(out,
                        "# Tokens of `belljar serve`, made with `belljar token add`. Only "
                        "the SHA-256 of a token is stored.\n",
                        err);

    for (size_t i = 0; r == 0 && i < tokens->count; i++) {
        const struct token *t = &tokens->items[i];
        char hex[2 * SHA256_BYTES + 1];

        sha256_to_hex(t->hash, hex);
        r = buf_printf(out, err, "\n[%s]\nhash = \"%s\"\ncreated = \"%s\"\n", t->name, hex,
                       t->created);
        if (r == 0 && *t->id)
            r = buf_printf(out, err, "id = \"%s\"\n", t->id);
        if (r == 0)
            r = rights_write(&t->rights, out, err);
    }
    return r;
}

static int save(const char *path, const struct tokens *tokens, struct error *err)
{
    cleanup(buf_done) struct buf text;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    if (write_text(tokens, &text, err) < 0)
        return -1;
    if (file_replace(path, buf_str(&text), text.len, err) < 0)
        return error_wrap(err, "token file");
    return 0;
}

static int lock(const char *path, struct error *err)
{
    cleanup_free char *beside = NULL;
    cleanup_close int fd = -1;

    if (asprintf(&beside, "%s.lock", path) < 0) {
        beside = NULL;
        return error_memory(err);
    }
    fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return error_errno(err, "lock the token file `%s`", path);
    return take_fd(fd);
}

int tokens_check_new(const struct tokens *tokens, const char *name, struct error *err)
{
    if (!token_is_name(name)) {
        error_set(err, E_INVALID, "`%.80s` is not a name for a token", name);
        return error_hint(
            err,
            "a name is up to %d letters, digits, `_` and `-`, and begins with a letter "
            "or a digit",
            TOKEN_NAME_SIZE - 1);
    }
    if (check_reserved(name, err) < 0)
        return -1;
    if (tokens_find(tokens, name)) {
        error_set(err, E_INVALID, "a token named `%s` already exists", name);
        return error_hint(err, "remove it first: belljar token rm %s", name);
    }
    if (tokens->count == TOKENS_MAX)
        return error_set(err, E_TOO_LARGE, "at most %d tokens", TOKENS_MAX);
    return 0;
}

static int add_one(struct tokens *tokens, const char *name, const struct rights *rights,
                   char token[TOKEN_LEN + 1], struct error *err)
{
    struct token *items, *new;

    if (tokens_check_new(tokens, name, err) < 0 || token_make(token, err) < 0)
        return -1;
    items = realloc(tokens->items, (tokens->count + 1) * sizeof(*items));
    if (!items)
        return error_memory(err);
    tokens->items = items;
    new = &items[tokens->count++];
    *new = (struct token){.rights = *rights};
    memcpy(new->name, name, strlen(name) + 1);
    if (id_make_plain(new->id, "tok_") < 0)
        return error_errno(err, "getrandom");
    sha256(token, TOKEN_LEN, new->hash);
    date_seconds(time(NULL), new->created);
    return 0;
}

int tokens_add(const char *path, const char *name, const struct rights *rights,
               char ret_token[TOKEN_LEN + 1], struct error *err)
{
    cleanup_close int held = lock(path, err);
    cleanup(tokens_done) struct tokens tokens = {0};

    if (held < 0 || tokens_load(path, &tokens, err) < 0 ||
        add_one(&tokens, name, rights, ret_token, err) < 0)
        return -1;
    return save(path, &tokens, err);
}

int tokens_remove(const char *path, const char *name, char ret_keeper[TOKEN_KEEPER_SIZE],
                  struct error *err)
{
    cleanup_close int held = lock(path, err);
    cleanup(tokens_done) struct tokens tokens = {0};
    struct token *found;

    if (held < 0 || tokens_load(path, &tokens, err) < 0)
        return -1;
    found = tokens_find(&tokens, name);
    if (!found) {
        error_set(err, E_NOT_FOUND, "there is no token `%.80s`", name);
        return error_hint(err, "`belljar token list` shows their names");
    }
    token_keeper(found, ret_keeper);
    *found = tokens.items[--tokens.count];
    return save(path, &tokens, err);
}
