#include "audit/record.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

#define HEX_LEN ((size_t)2 * SHA256_BYTES)

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* The end of every line: the code, the hash, and the digits of both. */
#define MAC_KEY   ",\"mac\":\""
#define HASH_KEY  ",\"hash\":\""
#define MAC_HEX   ((size_t)2 * RECORD_MAC)
#define HASH_TAIL (sizeof(HASH_KEY) - 1 + HEX_LEN + 2)
#define MAC_TAIL  (sizeof(MAC_KEY) - 1 + MAC_HEX + 1 + HASH_TAIL)

/* Most records are shorter, and so never move while they grow. */
#define USUAL_BYTES (2 * KIB)

/* --- writing --- */

static void add(struct record *r, const char *data, size_t len)
{
    if (buf_add(&r->text, data, len, NULL) < 0)
        r->has_failed = true;
}

static void add_str(struct record *r, const char *text)
{
    add(r, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void add_format(struct record *r, const char *fmt, ...)
{
    char text[64];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    add_str(r, text);
}

/* Some terminals take these for sequences; they are control characters, too. */
static bool is_c1(const char *text, size_t len)
{
    return len > 1 && text[0] == '\xc2' && (unsigned char)text[1] >= 0x80 &&
           (unsigned char)text[1] < 0xa0;
}

/* Length of what can be written as it is: all but quotes, backslashes and control characters, as
 * long as it is UTF-8. */
static size_t plain_length(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len) {
        unsigned char c = (unsigned char)text[n];
        int size;

        if (c < 0x80) {
            if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
                break;
            n++;
            continue;
        }
        size = utf8_decode(text + n, len - n, NULL);
        if (size <= 0 || is_c1(text + n, len - n))
            break;
        n += (size_t)size;
    }
    return n;
}

static void add_escape(struct record *r, unsigned char c)
{
    if (c == '"' || c == '\\')
        add_format(r, "\\%c", c);
    else if (c == '\n')
        add_str(r, "\\n");
    else if (c == '\t')
        add_str(r, "\\t");
    else if (c < 0x80)
        add_format(r, "\\u%04x", c);
    else
        add_str(r, "\\ufffd");
}

static void add_string(struct record *r, const char *text, size_t len)
{
    add_str(r, "\"");
    while (len) {
        size_t n = plain_length(text, len);

        add(r, text, n);
        text += n;
        len -= n;
        if (is_c1(text, len)) {
            add_format(r, "\\u00%02x", (unsigned)(unsigned char)text[1]);
            text += 2;
            len -= 2;
        } else if (len) {
            add_escape(r, (unsigned char)*text);
            text++;
            len--;
        }
    }
    add_str(r, "\"");
}

static void begin(struct record *r, const char *key)
{
    if (r->needs_comma)
        add_str(r, ",");
    r->needs_comma = true;
    if (key)
        add_format(r, "\"%s\":", key);
}

static bool is_made_of(const char *text, const char *characters)
{
    size_t len = strlen(text);

    return len <= 128 && strspn(text, characters) == len;
}

static bool is_word(const char *text)
{
    return is_made_of(text, LETTERS_AND_DIGITS "_-.:+ /");
}

void record_init(struct record *r, const char *kind)
{
    assert(strlen(kind) < RECORD_KIND_MAX);
    *r = (struct record){0};
    buf_init(&r->text, RECORD_BYTES - 4 * KIB); /* the rest of the line is short */
    if (buf_reserve(&r->text, USUAL_BYTES, NULL) < 0)
        r->has_failed = true;
    record_word(r, "kind", kind);
}

void record_done(struct record *r)
{
    buf_done(&r->text);
}

void record_text(struct record *r, const char *key, struct clean_text text)
{
    begin(r, key);
    add_string(r, clean_data(text), clean_len(text));
}

void record_word(struct record *r, const char *key, const char *word)
{
    begin(r, key);
    if (!word)
        add_str(r, "null");
    else if (is_word(word))
        add_string(r, word, strlen(word));
    else
        r->has_failed = true; /* it may be anything: it has to be masked */
}

void record_base64(struct record *r, const char *key, const char *text)
{
    begin(r, key);
    if (is_made_of(text, LETTERS_AND_DIGITS "+/="))
        add_string(r, text, strlen(text));
    else
        r->has_failed = true;
}

void record_number(struct record *r, const char *key, uint64_t number)
{
    begin(r, key);
    add_format(r, "%" PRIu64, number);
}

void record_signed(struct record *r, const char *key, int64_t number)
{
    begin(r, key);
    add_format(r, "%" PRId64, number);
}

void record_ms(struct record *r, const char *key, double ms)
{
    begin(r, key);
    add_format(r, "%.3f", ms > 0 && ms < 1e15 ? ms : 0);
}

void record_bool(struct record *r, const char *key, bool value)
{
    begin(r, key);
    add_str(r, value ? "true" : "false");
}

void record_digest(struct record *r, const char *key, const uint8_t digest[SHA256_BYTES])
{
    char text[HEX_LEN + 1];

    sha256_to_hex(digest, text);
    record_word(r, key, text);
}

static void open_as(struct record *r, const char *key, char opener, char closer)
{
    begin(r, key);
    add(r, &opener, 1);
    assert(r->depth < RECORD_DEPTH);
    r->closers[r->depth++] = closer;
    r->needs_comma = false;
}

void record_open(struct record *r, const char *key)
{
    open_as(r, key, '{', '}');
}

void record_open_list(struct record *r, const char *key)
{
    open_as(r, key, '[', ']');
}

void record_close(struct record *r)
{
    assert(r->depth > 0);
    add(r, &r->closers[--r->depth], 1);
    r->needs_comma = true;
}

char *record_escape(const char *text)
{
    cleanup(record_done) struct record r = {0};

    buf_init(&r.text, RECORD_BYTES);
    add_string(&r, text, strlen(text));
    return r.has_failed ? NULL : strndup(r.text.data + 1, r.text.len - 2);
}

json_t *record_load(const char *line, size_t len)
{
    static const struct json_text_limits limits = {
        .bytes = RECORD_BYTES, .depth = RECORD_DEPTH + 1, .allows_nul = true, .allows_many = true};
    json_t *value = NULL;

    return json_text_load(line, len, &limits, &value, NULL) < 0 ? NULL : value;
}

static void make_mac(const char *data, size_t len, const uint8_t secret[SHA256_BYTES],
                     uint8_t mac[SHA256_BYTES])
{
    unsigned size = SHA256_BYTES;

    (void)HMAC(EVP_sha256(), secret, SHA256_BYTES, (const uint8_t *)data, len, mac, &size);
}

int record_line(const struct record *r, const struct record_mark *before, const char *time,
                const uint8_t secret[SHA256_BYTES], struct buf *out, struct record_mark *ret_mark,
                struct error *err)
{
    uint8_t mac[SHA256_BYTES] = {0};
    char hex[HEX_LEN + 1];
    size_t start = out->len;

    assert(r->depth == 0);
    if (r->has_failed)
        return error_set(err, E_SYSTEM, "a record is too long, or memory is short");
    sha256_to_hex(before->hash, hex);
    if (buf_printf(out, err, "{\"v\":1,\"seq\":%" PRIu64 ",\"time\":\"%s\",\"prev\":\"%s\",",
                   before->seq + 1, time, hex) < 0 ||
        buf_add(out, r->text.data, r->text.len, err) < 0)
        return -1;
    make_mac(out->data + start, out->len - start, secret, mac);
    sha256_to_hex(mac, hex);
    if (buf_printf(out, err, MAC_KEY "%.*s\"", (int)MAC_HEX, hex) < 0)
        return -1;
    ret_mark->seq = before->seq + 1;
    (void)snprintf(ret_mark->time, sizeof(ret_mark->time), "%s", time);
    sha256(out->data + start, out->len - start, ret_mark->hash);
    sha256_to_hex(ret_mark->hash, hex);
    return buf_printf(out, err, HASH_KEY "%s\"}\n", hex);
}

/* --- reading --- */

struct scan {
    const char *at, *end;
};

static bool skip(struct scan *s, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return false;
    s->at += len;
    return true;
}

static bool read_seq(struct scan *s, uint64_t *ret_seq)
{
    const char *from = s->at;

    *ret_seq = 0;
    while (s->at < s->end && isdigit((unsigned char)*s->at) && s->at - from < 19)
        *ret_seq = *ret_seq * 10 + (uint64_t)(*s->at++ - '0');
    return s->at > from && (*from != '0');
}

/* Up to the quote; what is in it is kept whole or not at all. */
static bool read_quoted(struct scan *s, char *text, size_t size)
{
    const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
    size_t len = quote ? (size_t)(quote - s->at) : size;

    if (len >= size)
        return false;
    memcpy(text, s->at, len);
    text[len] = '\0';
    s->at = quote + 1;
    return strlen(text) == len;
}

bool record_read(const char *line, size_t len, struct record_head *ret_head)
{
    struct scan s = {line, line + len};
    char hex[HEX_LEN + 1];
    struct scan tail;

    if (len < MAC_TAIL)
        return false;
    *ret_head = (struct record_head){0};
    if (!skip(&s, "{\"v\":1,\"seq\":") || !read_seq(&s, &ret_head->mark.seq) ||
        !skip(&s, ",\"time\":\"") ||
        !read_quoted(&s, ret_head->mark.time, sizeof(ret_head->mark.time)) ||
        !skip(&s, ",\"prev\":\"") || !read_quoted(&s, hex, sizeof(hex)) ||
        sha256_from_hex(hex, ret_head->prev) < 0 || !skip(&s, ",\"kind\":\"") ||
        !read_quoted(&s, ret_head->kind, sizeof(ret_head->kind)))
        return false;
    tail = (struct scan){line + len - MAC_TAIL, line + len};
    return tail.at >= s.at && skip(&tail, MAC_KEY) &&
           read_quoted(&tail, ret_head->mac, sizeof(ret_head->mac)) && skip(&tail, HASH_KEY) &&
           read_quoted(&tail, hex, sizeof(hex)) && sha256_from_hex(hex, ret_head->mark.hash) == 0 &&
           skip(&tail, "}") && tail.at == tail.end;
}

bool record_is_whole(const char *line, size_t len, const struct record_head *head)
{
    uint8_t hash[SHA256_BYTES];

    sha256(line, len - HASH_TAIL, hash);
    return memcmp(hash, head->mark.hash, sizeof(hash)) == 0;
}

bool record_is_ours(const char *line, size_t len, const struct record_head *head,
                    const uint8_t secret[SHA256_BYTES])
{
    uint8_t mac[SHA256_BYTES] = {0};
    char hex[HEX_LEN + 1];

    make_mac(line, len - MAC_TAIL, secret, mac);
    sha256_to_hex(mac, hex);
    return strlen(head->mac) == MAC_HEX && CRYPTO_memcmp(hex, head->mac, MAC_HEX) == 0;
}
