#include "wire/policy.h"

#include <stdlib.h>
#include <string.h>

/* A row is a list number and two lengths at least: what a count is held against before anything is
 * allocated. */
#define ROW_BYTES_MIN 9

static bool list_has_value(enum policy_list list)
{
    return list == POLICY_IMPORT_FROM || list == POLICY_HINT;
}

static bool text_ok(struct span text, size_t max)
{
    return text.len > 0 && text.len <= max && !memchr(text.data, '\0', text.len);
}

static bool row_ok(const struct policy_row *row)
{
    if (row->list < POLICY_IMPORT_ALLOW || row->list >= POLICY_LIST_END)
        return false;
    if (!text_ok(row->key, POLICY_KEY_MAX))
        return false;
    return list_has_value(row->list) ? text_ok(row->value, POLICY_VALUE_MAX) : row->value.len == 0;
}

static bool head_ok(const struct wire_policy *policy)
{
    return text_ok(policy->profile, POLICY_KEY_MAX) &&
           !(policy->flags & ~(uint32_t)POLICY_FLAGS_ALL) &&
           !(policy->powers & ~(uint32_t)POLICY_POWERS_ALL) && policy->max_bytes > 0 &&
           policy->max_lines > 0;
}

void wire_policy_encode(const struct wire_policy *policy, struct pack *p)
{
    if (!head_ok(policy) || policy->n_rows > POLICY_ROWS_MAX) {
        p->failed = true;
        return;
    }
    pack_u32(p, POLICY_VERSION);
    pack_bytes(p, policy->profile.data, policy->profile.len);
    pack_u32(p, policy->flags);
    pack_u32(p, policy->powers);
    pack_u32(p, policy->max_bytes);
    pack_u32(p, policy->max_lines);
    pack_u32(p, (uint32_t)policy->n_rows);
    for (size_t i = 0; i < policy->n_rows; i++) {
        const struct policy_row *row = &policy->rows[i];

        if (!row_ok(row)) {
            p->failed = true;
            return;
        }
        pack_u8(p, (uint8_t)row->list);
        pack_bytes(p, row->key.data, row->key.len);
        pack_bytes(p, row->value.data, row->value.len);
    }
}

static int decode_rows(struct unpack *u, struct wire_policy *policy)
{
    uint32_t count = unpack_count(u, ROW_BYTES_MIN, POLICY_ROWS_MAX);

    if (u->failed)
        return -1;
    if (count == 0)
        return 0;
    policy->rows = calloc(count, sizeof(*policy->rows));
    if (!policy->rows)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct policy_row *row = &policy->rows[i];

        row->list = unpack_u8(u);
        row->key = unpack_span(u);
        row->value = unpack_span(u);
        if (u->failed || !row_ok(row))
            return -1;
    }
    policy->n_rows = count;
    return 0;
}

int wire_policy_decode(struct span encoded, struct wire_policy *ret)
{
    struct wire_policy policy = {0};
    struct unpack u;

    if (encoded.len > POLICY_BYTES_MAX)
        return -1;
    unpack_init(&u, encoded.data, encoded.len);
    if (unpack_u32(&u) != POLICY_VERSION)
        return -1;
    policy.profile = unpack_span(&u);
    policy.flags = unpack_u32(&u);
    policy.powers = unpack_u32(&u);
    policy.max_bytes = unpack_u32(&u);
    policy.max_lines = unpack_u32(&u);
    if (u.failed || !head_ok(&policy) || decode_rows(&u, &policy) < 0 || !unpack_ok(&u)) {
        free(policy.rows);
        return -1;
    }
    *ret = policy;
    return 0;
}

void wire_policy_done(struct wire_policy *policy)
{
    free(policy->rows);
    policy->rows = NULL;
    policy->n_rows = 0;
}
