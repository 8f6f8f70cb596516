#include "cluster/token_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "cluster/token_list.h"

/* A change is told; this is for one whose telling was lost. */
#define ASK_TICKS (30000 / CLUSTER_BEAT_MS)

/* One that could not be used: its file may have been locked. */
#define AGAIN_TICKS (3000 / CLUSTER_BEAT_MS)

/* Of what the list is, and of what can be done with it here. */
enum { ABOUT_LIST, ABOUT_FILE, COMPLAINTS };

struct token_sync {
    char subject[CLUSTER_SUBJECT_MAX];
    struct buf ca;
    char *path, *copy, *staged, *before, *lock;
    struct token_list list; /* the last good one; serial 0: none */
    struct stat seen;       /* of the file, when it was last made so */
    bool is_due;            /* the file may differ from the list */
    unsigned ticks;
    char said[COMPLAINTS][256]; /* the last complaint of each kind */
};

/* --- words --- */

/* Each once, until there is another one of its kind. */
static void complain(struct token_sync *s, size_t about, const char *what, const struct error *err)
{
    char text[sizeof(s->said[0])];

    (void)snprintf(text, sizeof(text), "%s: %s", what, err->message ? err->message : "no memory");
    if (strcmp(text, s->said[about]) == 0)
        return;
    memcpy(s->said[about], text, sizeof(text));
    LOG_EVENT(LOG_WARNING, "tokens", {"message", text});
}

static void say(const char *name, const char *what)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "token `%s` %s", name, what);
    LOG_EVENT(LOG_WARNING, "tokens", {"message", text});
}

/* --- the file --- */

static const struct token *find_same(const struct tokens *tokens, const struct token *token)
{
    const struct token *found = tokens_find(tokens, token->name);

    return found && memcmp(found->hash, token->hash, sizeof(found->hash)) == 0 ? found : NULL;
}

/* The engine's and the command's own lock (admit/tokens.c). Neither holds it for long; while one
 * does, the next heartbeat tries again. */
static int take_lock(const struct token_sync *s, int *ret_fd, struct error *err)
{
    cleanup_close int fd = open(s->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_errno(err, "lock the token file `%s`", s->path);
    *ret_fd = take_fd(fd);
    return 0;
}

/* What was changed on this machine alone, since the list `old` was put into the file. */
static int keep_own(const struct token_sync *s, const struct tokens *old, const struct tokens *new,
                    const struct tokens *local, struct error *err)
{
    char keeper[TOKEN_KEEPER_SIZE];

    for (size_t i = 0; i < new->count; i++) {
        const struct token *t = &new->items[i];

        if (find_same(local, t) || !find_same(old, t))
            continue;
        if (tokens_remove(s->staged, t->name, keeper, err) < 0)
            return -1;
        say(t->name, "was removed on this machine alone, and stays so");
    }
    return 0;
}

/* Tells of what goes. True: some of it was in no list, and is to be kept. */
static bool tell_losses(const struct tokens *old, const struct tokens *new,
                        const struct tokens *local)
{
    bool has_own = false;

    for (size_t i = 0; i < local->count; i++) {
        const struct token *t = &local->items[i];

        if (find_same(new, t))
            continue;
        if (find_same(old, t)) {
            say(t->name, "was removed from the cluster");
            continue;
        }
        has_own = true;
        say(t->name, tokens_find(new, t->name)
                         ? "of this machine goes: the cluster has another of that name"
                         : "of this machine goes: it is not in the cluster's list "
                           "(`belljar cluster token add`)");
    }
    return has_own;
}

struct three {
    struct tokens old, new, local;
};

static void three_done(struct three *t)
{
    tokens_done(&t->old);
    tokens_done(&t->new);
    tokens_done(&t->local);
}

/* The staged file becomes what the machine's file is to be. */
static int stage(const struct token_sync *s, const struct token_list *list, const struct three *t,
                 bool has_file, struct buf *text, struct error *err)
{
    int r = file_replace(s->staged, buf_str(&list->text), list->text.len, err);

    /* A file that is lost says nothing about what was removed. */
    if (r == 0 && has_file)
        r = keep_own(s, &t->old, &t->new, &t->local, err);
    if (r == 0)
        r = token_list_read_file(s->staged, text, err);
    token_list_unstage(s->staged);
    return r;
}

static int put(struct token_sync *s, const struct token_list *list, const struct three *t,
               struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_CONFIG_BYTES),
                                 was = BUF_OF(LIMIT_CONFIG_BYTES);
    bool has_file = token_list_read_file(s->path, &was, NULL) == 0;

    if (stage(s, list, t, has_file, &text, err) < 0)
        return -1;
    if (has_file && text.len == was.len && memcmp(buf_str(&text), buf_str(&was), was.len) == 0)
        return 0;
    if (tell_losses(&t->old, &t->new, &t->local) &&
        file_replace(s->before, buf_str(&was), was.len, err) < 0)
        return -1;
    return file_replace(s->path, buf_str(&text), text.len, err);
}

/* Makes the machine's file hold what the list says. `list` may be the one that it holds. */
static int apply(struct token_sync *s, const struct token_list *list, struct error *err)
{
    cleanup(three_done) struct three t = {0};
    cleanup_close int held = -1;

    if (take_lock(s, &held, err) < 0 || token_list_tokens(list, s->staged, &t.new, err) < 0 ||
        tokens_load(s->path, &t.local, err) < 0)
        return -1;
    if (s->list.serial && token_list_tokens(&s->list, s->staged, &t.old, err) < 0)
        return -1;
    if (put(s, list, &t, err) < 0)
        return -1;
    (void)memset(&s->seen, 0, sizeof(s->seen));
    (void)stat(s->path, &s->seen);
    return 0;
}

/* --- the list --- */

static int take_value(struct token_sync *s, const char *value, size_t len, struct error *err)
{
    cleanup(token_list_done) struct token_list list = TOKEN_LIST;

    if (token_list_read(value, len, buf_str(&s->ca), &list, err) < 0)
        return -1;
    if (list.serial < s->list.serial)
        return error_set(err, E_DENIED, "it is older than the one that this machine has");
    if (list.serial == s->list.serial && !s->is_due) {
        memset(s->said, 0, sizeof(s->said));
        return 0;
    }
    if (apply(s, &list, err) < 0 || file_replace(s->copy, value, len, err) < 0)
        return error_wrap(err, "it cannot be used here");
    if (list.serial != s->list.serial)
        LOG_EVENT(LOG_INFO, "tokens", {"message", "the cluster's list is used"});
    s->is_due = false;
    memset(s->said, 0, sizeof(s->said));
    token_list_done(&s->list);
    s->list = list;
    list = (struct token_list)TOKEN_LIST;
    return 0;
}

static int take_answer(struct token_sync *s, const struct bus_message *message, struct error *err)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);
    int r = token_list_read_answer(message->data, message->len, &value, err);

    return r > 0 ? take_value(s, buf_str(&value), value.len, err) : r;
}

bool token_sync_take(struct token_sync *s, struct bus *bus, const struct bus_message *message)
{
    cleanup_error struct error err = {0};

    if (strcmp(message->subject, TOKEN_LIST_CHANGED) == 0) {
        token_sync_ask(s, bus);
        return true;
    }
    if (strcmp(message->subject, s->subject) != 0)
        return false;
    if (!message->has_no_responders && take_answer(s, message, &err) < 0) {
        complain(s, ABOUT_LIST, "the cluster's list of tokens is refused", &err);
        s->ticks = ASK_TICKS - AGAIN_TICKS;
    }
    return true;
}

void token_sync_ask(struct token_sync *s, struct bus *bus)
{
    static const char question[] = "{\"last_by_subj\":\"" TOKEN_LIST_SUBJECT "\"}";
    struct packet *packet = packet_copy(question, sizeof(question) - 1);

    s->ticks = 0;
    if (packet)
        bus_send(bus, TOKEN_LIST_GET, s->subject, packet);
    packet_unref(packet);
}

void token_sync_tick(struct token_sync *s, struct bus *bus)
{
    cleanup_error struct error err = {0};
    struct stat st = {0};

    if (++s->ticks >= ASK_TICKS)
        token_sync_ask(s, bus);
    if (!s->list.serial)
        return;
    (void)stat(s->path, &st);
    if (!s->is_due && file_is_unchanged(&st, &s->seen))
        return;
    s->is_due = apply(s, &s->list, &err) < 0;
    if (s->is_due)
        complain(s, ABOUT_FILE, "the cluster's tokens", &err);
}

/* --- life --- */

static int open_paths(struct token_sync *s, const char *path)
{
    s->path = strdup(path);
    if (!s->path || asprintf(&s->copy, "%s" TOKEN_LIST_COPY, path) < 0 ||
        asprintf(&s->staged, "%s.staged", path) < 0 ||
        asprintf(&s->before, "%s.before", path) < 0 || asprintf(&s->lock, "%s.lock", path) < 0)
        return -1;
    return 0;
}

static int open_all(struct token_sync *s, const struct settings *settings, struct error *err)
{
    cleanup_error struct error why = {0};

    s->ca = (struct buf)BUF_OF(JOIN_PEM_BYTES);
    s->list = (struct token_list)TOKEN_LIST;
    (void)snprintf(s->subject, sizeof(s->subject), CLUSTER_SUBJECTS ".tokens.node.%s",
                   settings->name);
    if (open_paths(s, settings->tokens) < 0)
        return error_memory(err);
    if (token_list_read_file(settings->ca, &s->ca, err) < 0)
        return error_wrap(err, "`ca` of [bus]");
    token_list_unstage(s->staged);
    /* A copy that is broken counts as none: then the next list is the first one. */
    if (token_list_load(s->copy, buf_str(&s->ca), &s->list, &why) < 0) {
        s->list.serial = 0;
        if (why.code != E_NOT_FOUND)
            complain(s, ABOUT_LIST, "the copy of the cluster's tokens", &why);
    }
    s->is_due = true;
    return 0;
}

int token_sync_new(const struct settings *settings, struct token_sync **ret_sync, struct error *err)
{
    struct token_sync *s = calloc(1, sizeof(*s));

    if (!s)
        return error_memory(err);
    if (open_all(s, settings, err) < 0) {
        token_sync_free(s);
        return -1;
    }
    *ret_sync = s;
    return 0;
}

void token_sync_free(struct token_sync *s)
{
    if (!s)
        return;
    buf_done(&s->ca);
    token_list_done(&s->list);
    free(s->path);
    free(s->copy);
    free(s->staged);
    free(s->before);
    free(s->lock);
    free(s);
}

const char *token_sync_subject(const struct token_sync *s)
{
    return s->subject;
}
