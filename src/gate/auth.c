#include "gate/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* "bj_" and 256 bits in hex. */
#define TOKEN_LEN 67

struct auth {
    char token[TOKEN_LEN + 1];
    bool is_open; /* nobody needs one */
};

static int make_token(char token[TOKEN_LEN + 1], struct error *err)
{
    unsigned char chance[32];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return error_errno(err, "getrandom");
    (void)snprintf(token, TOKEN_LEN + 1, "bj_");
    for (size_t i = 0; i < sizeof(chance); i++)
        (void)snprintf(token + 3 + 2 * i, 3, "%02x", chance[i]);
    explicit_bzero(chance, sizeof(chance));
    return 0;
}

/* A file that somebody else can read is not a secret. */
static int check_file(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "token file `%s`", path);
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    error_set(err, E_DENIED, "the token file `%s` can be read or changed by others", path);
    return error_hint(err, "chmod 600 it, or delete it and a new token is made");
}

static int read_token(int fd, const char *path, char token[TOKEN_LEN + 1], struct error *err)
{
    char text[TOKEN_LEN + 3] = "";
    ssize_t n;

    if (check_file(fd, path, err) < 0)
        return -1;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return error_errno(err, "token file `%s`", path);
    text[strcspn(text, "\n")] = '\0';
    if (strlen(text) != TOKEN_LEN || strncmp(text, "bj_", 3) != 0) {
        explicit_bzero(text, sizeof(text));
        error_set(err, E_INVALID, "the token file `%s` holds no token", path);
        return error_hint(err, "delete it, and a new token is made");
    }
    memcpy(token, text, TOKEN_LEN + 1);
    explicit_bzero(text, sizeof(text));
    return 0;
}

/* Linked into place whole: of two servers that start at once, both use the first one's. */
static int write_token(const char *path, char token[TOKEN_LEN + 1], struct error *err)
{
    cleanup_free char *beside = NULL;
    cleanup_close int fd = -1;
    int r = 0;

    if (asprintf(&beside, "%s.%d", path, (int)getpid()) < 0) {
        beside = NULL;
        return error_set(err, E_SYSTEM, "out of memory");
    }
    if (make_token(token, err) < 0)
        return -1;
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || file_write_all(fd, token, TOKEN_LEN) < 0 || file_write_all(fd, "\n", 1) < 0 ||
        link(beside, path) < 0)
        r = error_errno(err, "write the token file `%s`", path);
    if (fd >= 0)
        (void)unlink(beside);
    return r;
}

static int load_token(const char *path, char token[TOKEN_LEN + 1], struct error *err)
{
    for (int attempt = 0;; attempt++) {
        cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd >= 0)
            return read_token(fd, path, token, err);
        if (errno != ENOENT || attempt)
            return error_errno(err, "token file `%s`", path);
        if (write_token(path, token, err) == 0)
            return 0;
        if (!err || err->errnum != EEXIST)
            return -1;
        error_done(err);
    }
}

int auth_open(const char *path, struct auth **ret_auth, struct error *err)
{
    struct auth *auth = calloc(1, sizeof(*auth));

    if (!auth)
        return error_set(err, E_SYSTEM, "out of memory");
    auth->is_open = !path;
    if (path && load_token(path, auth->token, err) < 0) {
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
    explicit_bzero(auth->token, sizeof(auth->token));
    free(auth);
}

/* Takes as long for the first wrong byte as for the last. */
static bool is_same(const char *a, const char *b, size_t len)
{
    volatile unsigned char difference = 0;

    for (size_t i = 0; i < len; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

int auth_check(const struct auth *auth, const struct auth_claim *claim, char *ret_owner,
               size_t size, struct error *err)
{
    bool is_known = auth->is_open || (claim->is_unix && claim->uid == geteuid());

    if (!is_known && claim->token.data && claim->token.len == TOKEN_LEN)
        is_known = is_same(claim->token.data, auth->token, TOKEN_LEN);
    if (!is_known) {
        error_set(err, E_AUTH, claim->token.data ? "that token is not known" : "a token is needed");
        return error_hint(err, "send `Authorization: Bearer TOKEN`; `belljar serve` says where the "
                               "token is kept");
    }
    (void)snprintf(ret_owner, size, "%s", ""); /* one token, one owner */
    return 0;
}
