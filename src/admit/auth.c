#include "admit/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "admit/page_tokens.h"
#include "base/cleanup.h"
#include "base/file.h"

struct auth {
    struct auth_options options;
    char *tokens_path;
    bool is_open; /* nobody needs one */
    bool has_first;
    uint8_t first[SHA256_BYTES];
    struct tokens tokens;
    struct stat seen; /* the file as it was read last */
    bool is_broken;   /* and it could not be */
    struct caller *callers;
    struct page_tokens *pages;
};

/* --- the first token --- */

static void take_first(struct auth *auth, const char *token)
{
    sha256(token, TOKEN_LEN, auth->first);
    if (auth->options.on_first)
        auth->options.on_first(auth->options.user, token, TOKEN_LEN);
}

static int read_token(struct auth *auth, int fd, const char *path, struct error *err)
{
    char text[TOKEN_LEN + 3] = "";
    ssize_t n;

    if (token_check_file(fd, path, err) < 0)
        return -1;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return error_errno(err, "token file `%s`", path);
    text[strcspn(text, "\n")] = '\0';
    if (strlen(text) != TOKEN_LEN || strncmp(text, "bj_", 3) != 0) {
        explicit_bzero(text, sizeof(text));
        error_set(err, E_INVALID, "the token file `%s` holds no token", path);
        return error_hint(err, "delete it to get a new token");
    }
    take_first(auth, text);
    explicit_bzero(text, sizeof(text));
    return 0;
}

/* Linked into place whole: of two servers that start at once, both use the first one's. */
static int write_token(struct auth *auth, const char *path, struct error *err)
{
    cleanup_free char *beside = NULL;
    cleanup_close int fd = -1;
    char token[TOKEN_LEN + 1];
    int r = 0;

    if (asprintf(&beside, "%s.%d", path, (int)getpid()) < 0) {
        beside = NULL;
        return error_memory(err);
    }
    if (token_make(token, err) < 0)
        return -1;
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || file_write_all(fd, token, TOKEN_LEN) < 0 || file_write_all(fd, "\n", 1) < 0 ||
        link(beside, path) < 0)
        r = error_errno(err, "write the token file `%s`", path);
    if (fd >= 0)
        (void)unlink(beside);
    if (r == 0)
        take_first(auth, token);
    explicit_bzero(token, sizeof(token));
    return r;
}

static int load_first(struct auth *auth, const char *path, struct error *err)
{
    for (int attempt = 0;; attempt++) {
        cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct error why = {0};

        auth->has_first = true;
        if (fd >= 0)
            return read_token(auth, fd, path, err);
        if (errno != ENOENT || attempt)
            return error_errno(err, "token file `%s`", path);
        if (auth->tokens.count) { /* the operator has others, and has not missed this one */
            auth->has_first = false;
            return 0;
        }
        if (write_token(auth, path, &why) == 0)
            return 0;
        if (why.errnum != EEXIST) {
            error_move(err, &why);
            return -1;
        }
        error_done(&why);
    }
}

/* --- callers --- */

static struct caller *find_caller(const struct auth *auth, const char *name)
{
    for (struct caller *c = auth->callers; c; c = c->next)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* NULL: out of memory. */
static struct caller *make_caller(struct auth *auth, const char *name)
{
    struct caller *c = find_caller(auth, name);

    if (c)
        return c;
    c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    (void)snprintf(c->keeper, sizeof(c->keeper), "%s", name);
    rights_init(&c->rights);
    c->trail_bytes_per_hour = auth->options.trail_bytes_per_hour;
    c->next = auth->callers;
    auth->callers = c;
    return c;
}

static int make_first(struct auth *auth, struct error *err)
{
    struct caller *c = make_caller(auth, TOKEN_FIRST);

    if (!c)
        return error_memory(err);
    c->rights.is_operator = c->rights.has_grants = true;
    c->is_known = true;
    return 0;
}

static void remove_caller(const struct auth *auth, struct caller *c)
{
    c->is_known = false;
    c->generation++;
    date_millis_now(c->removed);
    if (auth->options.on_removed)
        auth->options.on_removed(auth->options.user, c);
}

static void set_rights(const struct auth *auth, struct caller *c, const struct rights *rights)
{
    bool is_same = rights_are_same(&c->rights, rights);

    c->rights = *rights;
    if (!is_same && auth->options.on_changed)
        auth->options.on_changed(auth->options.user, c);
}

/* Ids say in which millisecond something began. None begins for the next token of a name in that in
 * which the last one went: it would be taken for the last one's. A clock that was set back is not
 * waited for. */
static void wait_for_next_millisecond(const char *removed)
{
    const struct timespec pause = {.tv_nsec = 200000};
    char now[DATE_SIZE];

    for (int i = 0; i < 10; i++) {
        date_millis_now(now);
        if (strcmp(now, removed) > 0)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* The file says the second in which the token was made, and we when the one before it went. Without
 * its Z a second comes before every moment of it. */
static void set_since(struct caller *c, const struct token *token)
{
    memcpy(c->created, token->created, sizeof(c->created));
    (void)snprintf(c->known_since, sizeof(c->known_since), "%.*s",
                   (int)strcspn(token->created, "Z"), token->created);
    if (strcmp(c->known_since, c->removed) < 0) {
        memcpy(c->known_since, c->removed, sizeof(c->known_since));
        if (!c->is_known)
            wait_for_next_millisecond(c->removed);
    }
}

/* Updates the callers from the file. Callers whose token was removed are reported; another token of
 * the same name may belong to somebody else. */
static void settle(struct auth *auth)
{
    for (size_t i = 0; i < auth->tokens.count; i++) {
        const struct token *token = &auth->tokens.items[i];
        struct caller *c = make_caller(auth, token->name);

        if (!c)
            continue; /* auth_check() will not find it, which is the safe side */
        if (c->is_known && sha256_differs(c->token_hash, token->hash))
            remove_caller(auth, c);
        token_keeper(token, c->keeper);
        memcpy(c->token_hash, token->hash, sizeof(c->token_hash));
        set_since(c, token);
        c->is_known = true;
        set_rights(auth, c, &token->rights);
    }
    for (struct caller *c = auth->callers; c; c = c->next) {
        if (!c->is_known || strcmp(c->name, TOKEN_FIRST) == 0 ||
            tokens_find(&auth->tokens, c->name))
            continue;
        remove_caller(auth, c);
    }
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Nor does anything that they gave let somebody in: pages, or sandboxes with tokens of their own.
 */
static void shut_out(struct auth *auth)
{
    for (struct caller *c = auth->callers; c; c = c->next)
        c->is_shut_out = auth->is_broken && strcmp(c->name, TOKEN_FIRST) != 0;
}

/* A file that cannot be read revokes its tokens but ends nothing: it is most likely a mistake. */
static void reload(struct auth *auth)
{
    struct tokens tokens = {0};
    struct error err = {0};
    bool was_broken = auth->is_broken;

    auth->is_broken = tokens_load(auth->tokens_path, &tokens, &err) < 0;
    tokens_done(&auth->tokens);
    auth->tokens = tokens;
    if (!auth->is_broken)
        settle(auth);
    shut_out(auth);
    if ((auth->is_broken || was_broken) && auth->options.on_trouble)
        auth->options.on_trouble(auth->options.user, &err);
    error_done(&err);
}

void auth_refresh(struct auth *auth)
{
    struct stat now = {0};

    if (!auth->tokens_path)
        return;
    if (lstat(auth->tokens_path, &now) < 0)
        now = (struct stat){0};
    if (is_same_file(&now, &auth->seen))
        return;
    auth->seen = now; /* before it is read: a change in between is seen the next time */
    reload(auth);
}

/* --- checking --- */

/* All are compared, whichever it is. */
static const char *find_token(const struct auth *auth, struct span shown)
{
    const char *found = NULL;
    uint8_t hash[SHA256_BYTES];

    if (shown.len != TOKEN_LEN)
        return NULL;
    sha256(shown.data, shown.len, hash);
    if (auth->has_first && !sha256_differs(hash, auth->first))
        found = TOKEN_FIRST;
    for (size_t i = 0; i < auth->tokens.count; i++)
        if (!sha256_differs(hash, auth->tokens.items[i].hash))
            found = auth->tokens.items[i].name;
    explicit_bzero(hash, sizeof(hash));
    return found;
}

static struct caller *find_page(const struct auth *auth, const struct auth_claim *claim)
{
    uint8_t hash[SHA256_BYTES];
    unsigned number = 0;
    struct caller *caller;

    if (claim->token.len != TOKEN_LEN)
        return NULL;
    sha256(claim->token.data, claim->token.len, hash);
    caller = page_token_find(auth->pages, hash, loop_now_ns(), &number);
    if (claim->ret_page)
        *claim->ret_page = number;
    return caller;
}

int auth_check(struct auth *auth, const struct auth_claim *claim, struct caller **ret_caller,
               struct error *err)
{
    struct caller *caller = NULL;
    const char *name = NULL;

    auth_refresh(auth);
    if (claim->token.data)
        caller = find_page(auth, claim);
    if (auth->is_open || (!claim->token.data && claim->is_unix && claim->uid == geteuid()))
        name = TOKEN_FIRST;
    else if (claim->token.data)
        name = find_token(auth, claim->token);
    if (name && !caller)
        caller = find_caller(auth, name);
    if (!caller || !caller->is_known) {
        error_set(err, E_AUTH, claim->token.data ? "that token is not known" : "a token is needed");
        return error_hint(err, "send `Authorization: Bearer TOKEN`; `belljar serve` says where the "
                               "token is kept");
    }
    *ret_caller = caller;
    return 0;
}

/* --- life --- */

static int open_all(struct auth *auth, struct error *err)
{
    const struct auth_options *options = &auth->options;

    if (make_first(auth, err) < 0)
        return -1;
    if (auth->is_open)
        return 0;
    if (options->tokens_path) {
        auth->tokens_path = strdup(options->tokens_path);
        if (!auth->tokens_path)
            return error_memory(err);
        if (lstat(auth->tokens_path, &auth->seen) < 0)
            auth->seen = (struct stat){0};
        /* At the start a mistake is told to whoever starts. */
        if (tokens_load(auth->tokens_path, &auth->tokens, err) < 0)
            return -1;
        settle(auth);
    }
    return load_first(auth, options->token_path, err);
}

int auth_open(const struct auth_options *options, struct auth **ret_auth, struct error *err)
{
    struct auth *auth = calloc(1, sizeof(*auth));

    if (!auth)
        return error_memory(err);
    auth->options = *options;
    auth->is_open = !options->token_path;
    auth->pages = page_tokens_new();
    if (!auth->pages) {
        auth_free(auth);
        return error_memory(err);
    }
    if (open_all(auth, err) < 0) {
        auth_free(auth);
        return -1;
    }
    *ret_auth = auth;
    return 0;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    while (auth->callers) {
        struct caller *c = auth->callers;

        auth->callers = c->next;
        free(c);
    }
    page_tokens_free(auth->pages);
    tokens_done(&auth->tokens);
    free(auth->tokens_path);
    explicit_bzero(auth->first, sizeof(auth->first));
    free(auth);
}

struct page_tokens *auth_pages(const struct auth *auth)
{
    return auth->pages;
}

bool auth_needs_token(const struct auth *auth)
{
    return !auth->is_open;
}

bool auth_has_first(const struct auth *auth)
{
    return auth->has_first;
}

struct caller *auth_next(const struct auth *auth, const struct caller *after)
{
    return after ? after->next : auth->callers;
}

bool auth_has_others(const struct auth *auth)
{
    size_t known = 0;

    for (const struct caller *c = auth_next(auth, NULL); c; c = auth_next(auth, c))
        known += c->is_known;
    return known > 1;
}
