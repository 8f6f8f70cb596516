/* State of a call that its client keeps and brings back: text that nobody but us can make, good for
 * one owner, one method, one name, and a while. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

/* A person has to answer in between. */
#define LIFETIME_S ((json_int_t)60 * 60)

#define STATE_MAX (64 * KIB)

#define BLOCK 64

#define HEX_LEN ((size_t)2 * SHA256_BYTES)

/* HMAC-SHA-256 (RFC 2104). The key has fewer bytes than a block. */
static int sign(const uint8_t *key, const char *text, size_t len, uint8_t digest[SHA256_BYTES])
{
    cleanup(buf_done) struct buf inner = BUF_OF(STATE_MAX * 2);
    uint8_t pads[2][BLOCK] = {{0}}, outer[BLOCK + SHA256_BYTES];

    for (size_t i = 0; i < BLOCK; i++) {
        pads[0][i] = 0x36 ^ (i < SHA256_BYTES ? key[i] : 0);
        pads[1][i] = 0x5c ^ (i < SHA256_BYTES ? key[i] : 0);
    }
    if (buf_add(&inner, pads[0], BLOCK, NULL) < 0 || buf_add(&inner, text, len, NULL) < 0)
        return -1;
    memcpy(outer, pads[1], BLOCK);
    sha256(inner.data, inner.len, outer + BLOCK);
    sha256(outer, sizeof(outer), digest);
    return 0;
}

/* The purpose of the state. */
static const char *subject_of(const struct mcp_call *call)
{
    const char *name = json_string_value(json_object_get(call->params, "name"));

    if (call->tool) /* as it was called: it may have been redirected */
        return name ? name : call->tool->name;
    return call->prompt ? call->prompt->name : call->uri;
}

char *mcp_state_seal(const struct mcp_call *call, const json_t *state)
{
    cleanup(buf_done) struct buf text = {0}, sealed = {0};
    json_t *object = json_pack("{s:O, s:s, s:s, s:I}", "state", state, "owner", call->owner, "for",
                               subject_of(call), "until", (json_int_t)time(NULL) + LIFETIME_S);
    uint8_t digest[SHA256_BYTES];
    char hex[HEX_LEN + 1];
    int r;

    buf_init(&text, STATE_MAX);
    buf_init(&sealed, 2 * STATE_MAX);
    r = json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL);
    json_decref(object);
    if (r < 0 || sign(call->server->key, buf_str(&text), text.len, digest) < 0)
        return NULL;
    sha256_to_hex(digest, hex);
    if (buf_printf(&sealed, NULL, "%s.", hex) < 0 ||
        base64_add(&sealed, text.data, text.len, NULL) < 0)
        return NULL;
    return strdup(buf_str(&sealed));
}

static int broken(struct error *err)
{
    return error_set(err, E_INVALID,
                     "`requestState`: expected the value from the server, unchanged");
}

static int check_use(const struct mcp_call *call, const json_t *object, struct error *err)
{
    const char *owner = json_string_value(json_object_get(object, "owner"));
    const char *use = json_string_value(json_object_get(object, "for"));

    if (!owner || !use || strcmp(owner, call->owner) != 0 || strcmp(use, subject_of(call)) != 0)
        return broken(err);
    if (json_integer_value(json_object_get(object, "until")) < (json_int_t)time(NULL))
        return error_set(err, E_INVALID, "`requestState`: its time is over; begin again");
    return 0;
}

int mcp_state_open(const struct mcp_call *call, const char *text, json_t **ret_state,
                   struct error *err)
{
    static const struct json_text_limits limits = {.bytes = STATE_MAX, .depth = 64};
    cleanup(buf_done) struct buf plain = BUF_OF(STATE_MAX);
    uint8_t given[SHA256_BYTES], own[SHA256_BYTES];
    char hex[HEX_LEN + 1] = "";
    json_t *object = NULL;
    int r;

    if (!text || strlen(text) < sizeof(hex) || text[HEX_LEN] != '.')
        return broken(err);
    memcpy(hex, text, HEX_LEN);
    text += sizeof(hex);
    if (sha256_from_hex(hex, given) < 0 || base64_decode(&plain, text, strlen(text), NULL) < 0 ||
        sign(call->server->key, buf_str(&plain), plain.len, own) < 0 ||
        sha256_differs(given, own) ||
        json_text_load(buf_str(&plain), plain.len, &limits, &object, NULL) < 0)
        return broken(err);
    r = check_use(call, object, err);
    if (r == 0)
        *ret_state = json_incref(json_object_get(object, "state"));
    json_decref(object);
    return r;
}
