/* Two engines in one process, with different settings. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/net.h"
#include "engine/engine.h"
#include "engine/masking.h"

struct side {
    char file[64];
    struct config *config;
    struct engine engine;
};

static void write_values(struct side *s, const char *name, const char *value)
{
    char text[256];
    int fd, len = snprintf(text, sizeof(text), "values = [\"%s\"]\n[secrets]\n%s = \"%s-key\"\n",
                           value, name, value);

    (void)snprintf(s->file, sizeof(s->file), "/tmp/belljar-engines.XXXXXX");
    fd = mkstemp(s->file);
    assert_true(fd >= 0 && write(fd, text, (size_t)len) == len);
    (void)close(fd);
}

static void open_side(struct side *s, const char *name, const char *value, int mb)
{
    struct run *model = run_new();
    struct error err = {0};

    *s = (struct side){.config = config_new()};
    assert_true(model && s->config);
    write_values(s, name, value);
    free(s->config->masking_file);
    s->config->masking_file = strdup(s->file);
    s->config->net_mb = mb;
    if (engine_open(&s->engine, s->config, &(struct engine_stock){0}, &model->terms.limits, &err) <
        0)
        fail_msg("%s", err.message);
    run_free(model);
}

static void close_side(struct side *s)
{
    engine_close(&s->engine);
    config_free(s->config);
    (void)unlink(s->file);
}

static void expect(const struct side *s, const char *text, bool is_masked)
{
    struct run *run = run_new();
    struct clean_text clean;

    assert_non_null(run);
    run->terms.masking = RUN_MASK_SECRETS;
    run->masks = pool_masks(s->engine.pool);
    clean = mask_text(mask_context_of(run), span_of(text));
    assert_int_equal(memmem(clean_data(clean), clean_len(clean), text, strlen(text)) == NULL,
                     is_masked);
    run_free(run);
}

static bool has_secret(const struct side *s, const char *name)
{
    return s->engine.egress.secret(s->engine.egress.user, name, strlen(name)) != NULL;
}

TEST(two_engines_share_no_settings)
{
    struct side a, b;

    open_side(&a, "FIRST", "plain-looking-words", 1);
    open_side(&b, "SECOND", "other-looking-words", 2);
    expect(&a, "plain-looking-words", true);
    expect(&a, "other-looking-words", false);
    expect(&b, "plain-looking-words", false);
    expect(&b, "other-looking-words", true);
    assert_true(has_secret(&a, "FIRST") && !has_secret(&a, "SECOND"));
    assert_true(has_secret(&b, "SECOND") && !has_secret(&b, "FIRST"));
    assert_int_equal(a.engine.egress.bytes, 1 * MIB);
    assert_int_equal(b.engine.egress.bytes, 2 * MIB);
    close_side(&a); /* the other one does not notice */
    expect(&b, "other-looking-words", true);
    assert_true(has_secret(&b, "SECOND"));
    close_side(&b);
}

UNIT_MAIN()
