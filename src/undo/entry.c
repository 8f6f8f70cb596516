#include "undo/entry.h"

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hex.h"

#define NUMBERS 12

static const char digits[] = "0123456789abcdef";

/* --- times --- */

struct timespec entry_timespec(int64_t ns)
{
    int64_t seconds = ns / 1000000000, rest = ns % 1000000000;

    if (rest < 0) {
        rest += 1000000000;
        seconds--;
    }
    return (struct timespec){.tv_sec = seconds, .tv_nsec = rest};
}

int64_t entry_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return file_time_ns(&now);
}

void entry_set_stat(struct entry *entry, const struct stat *st)
{
    entry->dev = st->st_dev;
    entry->ino = st->st_ino;
    entry->mode = st->st_mode;
    entry->nlink = st->st_nlink;
    entry->size = (uint64_t)st->st_size;
    entry->mtime_ns = file_time_ns(&st->st_mtim);
    entry->atime_ns = file_time_ns(&st->st_atim);
    entry->ctime_ns = file_time_ns(&st->st_ctim);
}

/* --- writing --- */

static char *put_number(char *at, uint64_t value)
{
    char text[16];
    size_t n = sizeof(text);

    do
        text[--n] = digits[value & 15];
    while (value >>= 4);
    *at++ = ' ';
    memcpy(at, text + n, sizeof(text) - n);
    return at + (sizeof(text) - n);
}

static char *put_text(char *at, const char *text)
{
    *at++ = ' ';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c > ' ' && c != '%' && c != 0x7f) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    return at;
}

size_t entry_format(const struct entry *e, char line[ENTRY_LINE_MAX])
{
    const uint64_t numbers[NUMBERS] = {
        e->id,
        e->grant,
        (uint64_t)e->at_ns,
        e->dev,
        e->ino,
        e->mode,
        e->nlink,
        e->size,
        (uint64_t)e->mtime_ns,
        (uint64_t)e->atime_ns,
        (uint64_t)e->ctime_ns,
        e->saved,
    };
    char *at = line;

    /* A value in hex needs no escapes; everything else may grow to three times its length. */
    if (strlen(e->path) >= PATH_MAX ||
        (e->more && strlen(e->more) >= (e->kind == ENTRY_XATTR ? 2 * 65536 + 1 : PATH_MAX)))
        return 0;
    *at++ = (char)e->kind;
    for (size_t i = 0; i < NUMBERS; i++)
        at = put_number(at, numbers[i]);
    /* The grant itself: no other path is "." */
    at = put_text(at, *e->path ? e->path : ".");
    if (e->more)
        at = put_text(at, *e->more ? e->more : ".");
    *at++ = '\n';
    return (size_t)(at - line);
}

/* --- reading --- */

/* Behind the number, or NULL. */
static const char *get_number(const char *at, const char *end, uint64_t *ret)
{
    const char *start;
    uint64_t value = 0;

    if (at == end || *at++ != ' ')
        return NULL;
    for (start = at; at < end && hex_lower_value(*at) >= 0; at++)
        value = value << 4 | (uint64_t)hex_lower_value(*at);
    if (at == start || at - start > 16)
        return NULL;
    *ret = value;
    return at;
}

/* Decodes up to the next blank, in place. Returns where the encoded text ended, or NULL. The caller
 * puts the NUL at *ret_end later: that byte may be the blank before the next text. */
static char *get_text(char *at, const char *end, char **ret_text, char **ret_end)
{
    char *out;

    if (at == end || *at++ != ' ')
        return NULL;
    *ret_text = out = at;
    for (; at < end && *at != ' '; at++) {
        unsigned char c = (unsigned char)*at;

        if (c == '%') {
            if (end - at < 3 || hex_lower_value(at[1]) < 0 || hex_lower_value(at[2]) < 0)
                return NULL;
            c = (unsigned char)(hex_lower_value(at[1]) << 4 | hex_lower_value(at[2]));
            at += 2;
            if (!c || (c > ' ' && c != '%' && c != 0x7f))
                return NULL; /* each name is written in one way only */
        } else if (c < ' ' || c == 0x7f) {
            return NULL;
        }
        *out++ = (char)c;
    }
    *ret_end = out;
    return out == *ret_text ? NULL : at;
}

static int is_path(const char *path)
{
    size_t len = strlen(path);

    if (len >= PATH_MAX)
        return 0;
    while (1) {
        size_t part = strcspn(path, "/");

        if (part == 0 || part > NAME_MAX || (part == 1 && path[0] == '.') ||
            (part == 2 && path[0] == '.' && path[1] == '.'))
            return 0;
        if (!path[part])
            return 1;
        path += part + 1;
    }
}

static int get_texts(char *at, const char *end, struct entry *e)
{
    char *path, *path_end, *more = NULL, *more_end = NULL;

    at = get_text(at, end, &path, &path_end);
    if (at && at < end)
        at = get_text(at, end, &more, &more_end);
    if (at != end)
        return -1;
    *path_end = '\0';
    if (more_end)
        *more_end = '\0';
    e->path = path;
    e->more = more;
    return 0;
}

/* The second text of each kind: 0 none, 1 a path, 2 any text, 3 any text or none. */
static int second_text(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_RENAME:
    case ENTRY_SWAP:
        return 1;
    case ENTRY_XATTR:
        return 2;
    case ENTRY_REMOVE:
    case ENTRY_LINKED:
        return 3;
    default:
        return 0;
    }
}

static int check_texts(struct entry *e)
{
    int second = second_text(e->kind);

    if (e->kind == ENTRY_XATTR) {
        if (strlen(e->path) > 255)
            return -1;
    } else if (strcmp(e->path, ".") == 0) {
        e->path = "";
    } else if (!is_path(e->path)) {
        return -1;
    }
    if ((second == 0 && e->more) || ((second == 1 || second == 2) && !e->more))
        return -1;
    if (second == 1)
        return is_path(e->more) && *e->path ? 0 : -1;
    if (second == 2 && strcmp(e->more, ".") == 0)
        e->more = "";
    if (second == 3 && e->more && (e->kind == ENTRY_LINKED || S_ISREG(e->mode)))
        return is_path(e->more) ? 0 : -1;
    return second == 3 && e->more && strlen(e->more) >= PATH_MAX ? -1 : 0;
}

int entry_parse(char *line, size_t len, struct entry *ret_entry, struct error *err)
{
    static const char kinds[] = "BCclWMARrNEXFZ";
    uint64_t numbers[NUMBERS];
    const char *end = line + len, *at = line + 1;
    struct entry e;

    if (len < 2 || !line[0] || !strchr(kinds, line[0]))
        return error_set(err, E_PROTOCOL, "unknown kind of journal entry");
    for (size_t i = 0; i < NUMBERS; i++)
        if (!(at = get_number(at, end, &numbers[i])))
            return error_set(err, E_PROTOCOL, "invalid number in a journal entry");
    e = (struct entry){
        .kind = (enum entry_kind)line[0],
        .id = numbers[0],
        .grant = (unsigned)numbers[1],
        .at_ns = (int64_t)numbers[2],
        .dev = numbers[3],
        .ino = numbers[4],
        .mode = (uint32_t)numbers[5],
        .nlink = numbers[6],
        .size = numbers[7],
        .mtime_ns = (int64_t)numbers[8],
        .atime_ns = (int64_t)numbers[9],
        .ctime_ns = (int64_t)numbers[10],
        .saved = numbers[11],
    };
    if (numbers[1] > UINT32_MAX || numbers[5] > UINT32_MAX || numbers[7] > INT64_MAX ||
        get_texts(line + (at - line), line + len, &e) < 0 || check_texts(&e) < 0)
        return error_set(err, E_PROTOCOL, "invalid path in a journal entry");
    *ret_entry = e;
    return 0;
}
