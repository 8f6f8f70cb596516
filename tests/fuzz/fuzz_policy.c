/* A policy from the wire, and text against a policy.
 *
 * The bytes are first taken for a policy: what decodes must encode to the same bytes, and must
 * answer questions. Then they are taken for a source and for templates, under a policy that
 * restricts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/policy/internal.h"
#include "wire/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct policy *policy, struct span text)
{
    struct policy_report report = {0};
    struct span name;

    (void)policy_restricts_nothing(policy);
    (void)policy_module_allowed(policy, text);
    (void)policy_import_allowed(policy, text, text);
    (void)policy_builtin_refused(policy, text);
    (void)policy_attribute_refused(policy, text);
    (void)policy_hint(policy, "import", text);
    for (int is_field = 0; is_field < 2; is_field++)
        if (policy_template_refused(policy, text, is_field, &name) &&
            (name.data < text.data || name.data + name.len > text.data + text.len))
            abort();
    if (policy_path_refused(policy, text, &name) && name.len > text.len)
        abort();
    if (policy_check_source(policy, text, &report) < 0)
        abort();
    for (size_t i = 0; i < report.count; i++)
        if (!report.items[i].message || !report.items[i].rule || !report.items[i].name)
            abort();
    policy_report_finish(&report, 0);
    policy_report_done(&report);
}

static void decode(struct span bytes)
{
    struct wire_policy message;
    struct policy *policy;
    struct pack again;

    if (wire_policy_decode(bytes, &message) < 0) {
        if (policy_load(bytes))
            abort();
        return;
    }
    pack_init(&again, POLICY_BYTES_MAX);
    wire_policy_encode(&message, &again);
    if (again.failed || again.len != bytes.len || memcmp(again.data, bytes.data, bytes.len) != 0)
        abort();
    pack_done(&again);
    policy = policy_load(bytes);
    if (!policy)
        abort();
    for (size_t i = 0; i < message.n_rows && i < 16; i++)
        ask(policy, message.rows[i].key);
    policy_free(policy);
    wire_policy_done(&message);
}

static struct policy *restricting(void)
{
    static struct policy_row rows[] = {
        {POLICY_IMPORT_ALLOW, {"numpy", 5}, {"", 0}},
        {POLICY_ATTRIBUTE_ALLOW, {"__name__", 8}, {"", 0}},
        {POLICY_ATTRIBUTE_DENY, {"gi_frame", 8}, {"", 0}},
        {POLICY_IMPORT_FROM, {"io", 2}, {"StringIO", 8}},
        {POLICY_HINT, {"import:os", 9}, {"use pathlib", 11}},
    };
    struct wire_policy message = {
        .profile = {"fuzz", 4},
        .flags = POLICY_FLAGS_ALL,
        .max_bytes = 4096,
        .max_lines = 64,
        .rows = rows,
        .n_rows = COUNT_OF(rows),
    };
    struct policy *policy;
    struct pack bytes;

    pack_init(&bytes, POLICY_BYTES_MAX);
    wire_policy_encode(&message, &bytes);
    policy = policy_load((struct span){(const char *)bytes.data, bytes.len});
    pack_done(&bytes);
    if (!policy)
        abort();
    return policy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct policy *policy;
    struct span bytes = {(const char *)data, len};

    if (!policy)
        policy = restricting();
    decode(bytes);
    ask(policy, bytes);
    return 0;
}
