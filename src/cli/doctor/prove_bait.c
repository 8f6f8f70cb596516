#include "cli/doctor/prove_bait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"

/* Keys that are taken, before it is no accident any more. */
#define SHM_TRIES 16

static void random_hex(char *text, size_t bytes)
{
    unsigned char raw[16];

    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        memset(raw, 0x5a, sizeof(raw)); /* guessable bait is still bait */
    hex_write(raw, bytes, text);
}

static int write_file(const struct bait *b, struct error *err)
{
    cleanup_close int fd = open(b->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0 || fchmod(fd, 0666) < 0 || dprintf(fd, "%s\n", b->token) < 0)
        return error_errno(err, "write %s", b->file);
    return 0;
}

static int bind_socket(struct bait *b, size_t slot, int family, int type, const void *address,
                       socklen_t len, struct error *err)
{
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    b->sockets[slot] = fd;
    if (fd < 0 || bind(fd, address, len) < 0 || (type == SOCK_STREAM && listen(fd, 64) < 0))
        return error_errno(err, "listen for programs that get out");
    return 0;
}

static int listen_all(struct bait *b, struct error *err)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un un = {.sun_family = AF_UNIX}, abstract = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(in);
    int name_len;

    if (bind_socket(b, 0, AF_INET, SOCK_STREAM, &in, sizeof(in), err) < 0)
        return -1;
    if (getsockname(b->sockets[0], (struct sockaddr *)&in, &len) < 0)
        return error_errno(err, "getsockname");
    b->port = ntohs(in.sin_port);
    if (bind_socket(b, 1, AF_INET, SOCK_DGRAM, &in, sizeof(in), err) < 0)
        return -1;
    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", b->unix_path);
    if (bind_socket(b, 2, AF_UNIX, SOCK_STREAM, &un, sizeof(un), err) < 0)
        return -1;
    (void)chmod(b->unix_path, 0777); /* where it fails the bait is only less tempting */
    name_len = snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "%s",
                        strrchr(b->dir, '/') + 1);
    return bind_socket(b, 3, AF_UNIX, SOCK_STREAM, &abstract,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name_len),
                       err);
}

static int share_memory(struct bait *b, struct error *err)
{
    void *at;

    /* A segment of somebody else must be neither written nor, at the end, removed. */
    for (int i = 0; i < SHM_TRIES && b->shm < 0; i++) {
        unsigned key;

        if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
            return error_errno(err, "getrandom");
        b->shm_key = (int)(0x20000000 | (key & 0xffffff));
        b->shm = shmget(b->shm_key, 4096, IPC_CREAT | IPC_EXCL | 0666);
        if (b->shm < 0 && errno != EEXIST)
            break;
    }
    at = b->shm < 0 ? (void *)-1 : shmat(b->shm, NULL, 0);
    if (at == (void *)-1)
        return error_errno(err, "share memory as bait");
    memcpy(at, b->token, sizeof(b->token));
    return shmdt(at) < 0 ? error_errno(err, "shmdt") : 0;
}

/* Root's grants are idmapped mounts, which an overlay, as the root of a container is, does not
 * have.
 */
static const char *place_for_grants(void)
{
    struct statfs st;

    return statfs("/var/tmp", &st) == 0 && st.f_type == OVERLAYFS_SUPER_MAGIC ? "/tmp" : "/var/tmp";
}

static int make_granted(struct bait *b, struct error *err)
{
    char file[96];
    cleanup_close int fd = -1;

    (void)snprintf(b->granted, sizeof(b->granted), "%s/bjgranted-XXXXXX", place_for_grants());
    if (!mkdtemp(b->granted)) {
        b->granted[0] = '\0';
        return error_errno(err, "make a directory in %s", place_for_grants());
    }
    (void)snprintf(file, sizeof(file), "%s/kept.txt", b->granted);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || fchmod(fd, 0666) < 0 || dprintf(fd, "kept\n") < 0 || chmod(b->granted, 0777) < 0)
        return error_errno(err, "write %s", file);
    return bait_add_grant(b, b->granted, err);
}

int bait_add_grant(struct bait *b, const char *path, struct error *err)
{
    json_t *list;

    if (b->n_grants == BAIT_GRANTS)
        return 0;
    b->grants[b->n_grants] = strdup(path);
    if (!b->grants[b->n_grants])
        return error_memory(err);
    b->n_grants++;
    list = json_array();
    for (size_t i = 0; list && i < b->n_grants; i++)
        (void)json_array_append_new(list, json_text_string(b->grants[i], strlen(b->grants[i])));
    free(b->grants_json);
    b->grants_json = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return b->grants_json ? 0 : error_memory(err);
}

/* Nothing but the file is in it, and the file is as it was. */
static bool is_granted_whole(const struct bait *b)
{
    char path[96], text[8] = "";
    cleanup_closedir DIR *dir = opendir(b->granted);
    cleanup_close int fd = -1;
    size_t entries = 0;
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/kept.txt", b->granted);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (dir && readdir(dir))
        entries++;
    return entries == 3 && fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0666 &&
           st.st_nlink == 1 && read(fd, text, sizeof(text) - 1) == 5 && strcmp(text, "kept\n") == 0;
}

static int fill(struct bait *b, struct error *err)
{
    /* Not in /tmp: a sandbox hides that by having one of its own. */
    (void)snprintf(b->dir, sizeof(b->dir), "/var/tmp/bjcanary-XXXXXX");
    if (!mkdtemp(b->dir)) {
        b->dir[0] = '\0';
        return error_errno(err, "make a directory in /var/tmp");
    }
    if (chmod(b->dir, 0777) < 0)
        return error_errno(err, "chmod %s", b->dir);
    (void)snprintf(b->file, sizeof(b->file), "%s/secret.txt", b->dir);
    (void)snprintf(b->unix_path, sizeof(b->unix_path), "%s/socket", b->dir);
    (void)snprintf(b->token, sizeof(b->token), "bjtoken-");
    random_hex(b->token + strlen(b->token), 12);
    (void)snprintf(b->secret, sizeof(b->secret), "belljar-test-secret-");
    random_hex(b->secret + strlen(b->secret), 8);
    (void)snprintf(b->orphan, sizeof(b->orphan), "bjorphan");
    random_hex(b->orphan + strlen(b->orphan), 3);
    if (gethostname(b->host, sizeof(b->host) - 1) < 0)
        return error_errno(err, "gethostname");
    if (write_file(b, err) < 0 || make_granted(b, err) < 0 || listen_all(b, err) < 0)
        return -1;
    return share_memory(b, err);
}

int bait_new(struct bait **ret_bait, struct error *err)
{
    struct bait *b = calloc(1, sizeof(*b));

    if (!b)
        return error_memory(err);
    b->shm = -1;
    for (size_t i = 0; i < BAIT_SOCKETS; i++)
        b->sockets[i] = -1;
    if (fill(b, err) < 0) {
        bait_free(b);
        return -1;
    }
    *ret_bait = b;
    return 0;
}

void bait_free(struct bait *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < BAIT_SOCKETS; i++)
        close_fd(&b->sockets[i]);
    if (b->shm >= 0)
        (void)shmctl(b->shm, IPC_RMID, NULL);
    (void)unlink(b->unix_path);
    (void)unlink(b->file);
    if (b->dir[0])
        (void)rmdir(b->dir); /* stays when a program left something in it, as evidence */
    if (b->granted[0]) {
        char path[96];

        (void)snprintf(path, sizeof(path), "%s/kept.txt", b->granted);
        (void)unlink(path);
        (void)rmdir(b->granted); /* the same */
    }
    for (size_t i = 0; i < b->n_grants; i++)
        free(b->grants[i]);
    free(b->grants_json);
    free(b);
}

/* A placeholder at `text` is filled in by adding its value; these return its length, 0: it is none
 * of theirs, -1: no room. */

static int fill_name(const struct bait *b, const char *text, size_t len, struct buf *out,
                     struct error *err)
{
    char numbers[3][16];
    /* clang-format off */
    const struct {
        const char *name;
        const char *value;
        size_t len; /* 0: up to the NUL */
    } names[] = {
        {"@CANARY_DIR@",      b->dir,         0},
        {"@CANARY_FILE@",     b->file,        0},
        {"@UNIX_SOCKET@",     b->unix_path,   0},
        {"@ABSTRACT_SOCKET@", strrchr(b->dir, '/') + 1, 0},
        {"@TCP_PORT@",        numbers[0],     0},
        {"@SHM_KEY@",         numbers[1],     0},
        {"@VICTIM_PID@",      numbers[2],     0},
        {"@ORPHAN@",          b->orphan,      0},
        {"@HOSTNAME@",        b->host,        0},
        {"@GRANTS@",          b->grants_json, 0},
        {"@NUL@",             "",             1},
        {"@CR@",              "\r",           1},
    };
    /* clang-format on */

    (void)snprintf(numbers[0], sizeof(numbers[0]), "%d", b->port);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%d", b->shm_key);
    (void)snprintf(numbers[2], sizeof(numbers[2]), "%d", getpid());
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t n = strlen(names[i].name);

        if (len >= n && memcmp(text, names[i].name, n) == 0)
            return buf_add(out, names[i].value,
                           names[i].len ? names[i].len : strlen(names[i].value), err) < 0
                       ? -1
                       : (int)n;
    }
    return 0;
}

static int fill_times(const char *text, size_t len, struct buf *out, struct error *err)
{
    unsigned times;
    int skip = 0;
    const char *end;

    /* The text is NUL-terminated, as every struct buf is. */
    if (sscanf(text, "@TIMES %u %n", &times, &skip) != 1 || !skip ||
        !(end = memchr(text + skip, '@', len - (size_t)skip)))
        return 0;
    for (unsigned i = 0; i < times; i++)
        if (buf_add(out, text + skip, (size_t)(end - text) - (size_t)skip, err) < 0)
            return -1;
    return (int)(end - text) + 1;
}

static int fill_one(const struct bait *b, const char *text, size_t len, struct buf *out,
                    struct error *err)
{
    int r = fill_name(b, text, len, out, err);

    return r == 0 ? fill_times(text, len, out, err) : r;
}

/* As in tests/lib/corpus.py: what a program says when it got somewhere, and bait that is looked at
 * afterwards. */
bool bait_is_in(const char *text)
{
    static const char *const signs[] = {
        "ESC",        "UNFIL",     "@CANARY_",     "@UNIX_SOCKET@", "@ABSTRACT_SOCKET@",
        "@TCP_PORT@", "@SHM_KEY@", "@VICTIM_PID@", "@ORPHAN@",
    };

    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

int bait_fill_in(const struct bait *b, const char *text, size_t len, struct buf *out,
                 struct error *err)
{
    for (size_t i = 0; i < len;) {
        int n = text[i] == '@' ? fill_one(b, text + i, len - i, out, err) : 0;

        if (n < 0 || (n == 0 && buf_add(out, text + i, 1, err) < 0))
            return -1;
        i += n > 0 ? (size_t)n : 1;
    }
    return 0;
}

const char *bait_touched(struct bait *b)
{
    char text[sizeof(b->token) + 2] = "";
    cleanup_close int fd = open(b->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_closedir DIR *dir = opendir(b->dir);
    size_t entries = 0;

    for (size_t i = 0; i < BAIT_SOCKETS; i++) {
        cleanup_close int peer = accept4(b->sockets[i], NULL, NULL, SOCK_CLOEXEC);
        char byte;

        if (peer >= 0 || (errno == EOPNOTSUPP && recv(b->sockets[i], &byte, 1, 0) >= 0))
            return "a socket outside was reached";
    }
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
        strncmp(text, b->token, strlen(b->token)) != 0)
        return "the file outside was changed";
    while (dir && readdir(dir))
        entries++;
    if (entries != 4) /* ., .., file, socket */
        return "the directory outside was changed";
    return is_granted_whole(b) ? NULL : "a directory granted for reading was changed";
}
