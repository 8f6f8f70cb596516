#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "admit/quota.h"
#include "admit/spent.h"
#include "base/json.h"

#define S   1000000000ull
#define NOW (1000 * S)

static char dir[] = "/tmp/bj-spent-XXXXXX";
static char token_path[64], tokens_path[64];
static struct auth *auth;
static struct caller *ann;

static int open_all(void **state)
{
    const struct auth_options options = {.token_path = token_path, .tokens_path = tokens_path};
    struct rights rights;
    struct error err = {0};
    char token[TOKEN_LEN + 1];

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(token_path, sizeof(token_path), "%s/token", dir);
    (void)snprintf(tokens_path, sizeof(tokens_path), "%s/tokens.toml", dir);
    rights_init(&rights);
    rights.runs_per_minute = 10;
    rights.cpu_s_per_hour = 100;
    assert_int_equal(tokens_add(tokens_path, "ann", &rights, token, &err), 0);
    assert_int_equal(auth_open(&options, &auth, &err), 0);
    assert_int_equal(
        auth_check(auth, &(struct auth_claim){.token = {token, TOKEN_LEN}}, &ann, &err), 0);
    return 0;
}

static int close_all(void **state)
{
    char lock[80];

    (void)state;
    auth_free(auth);
    (void)snprintf(lock, sizeof(lock), "%s.lock", tokens_path);
    (void)unlink(lock);
    (void)unlink(tokens_path);
    (void)unlink(token_path);
    return rmdir(dir);
}

/* `b2` says it, as JSON with ' for ". */
static void hear(struct spent *spent, const char *said)
{
    cleanup_json json_t *nodes = NULL;
    char text[512];

    (void)snprintf(text, sizeof(text), "{'b2':%s}", said);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    nodes = json_loads(text, 0, NULL);
    assert_non_null(nodes);
    spent_take(spent, auth, nodes, NOW);
}

static void start_over(void)
{
    ann->runs = ann->cpu_s = ann->bytes = (struct quota_bucket){.at_ns = NOW};
}

TEST(what_was_counted_here_is_told_and_never_less)
{
    cleanup_json json_t *before = NULL, *after = NULL;
    struct error err = {0};
    const json_t *amounts;
    unsigned wait;

    start_over();
    before = spent_json(auth, "now");
    assert_int_equal(json_object_size(json_object_get(before, "tokens")), 0);
    assert_int_equal(quota_take_run(ann, NOW, &wait, &err), 0);
    assert_int_equal(quota_take_run(ann, NOW + 600 * S, &wait, &err), 0);
    quota_spend(ann, NOW + 600 * S, 2.5, 7);
    after = spent_json(auth, "now");
    assert_string_equal(json_get_text(after, "since"), "now");
    amounts = json_object_get(json_object_get(after, "tokens"), "ann");
    assert_true(json_number_value(json_array_get(amounts, 0)) == 2);
    assert_true(json_number_value(json_array_get(amounts, 1)) == 2.5);
    assert_true(json_number_value(json_array_get(amounts, 2)) == 0); /* there is no allowance */
}

TEST(what_others_have_counted_uses_up_the_allowance)
{
    struct spent *spent = spent_new();
    struct error err = {0};
    unsigned wait;

    start_over();
    hear(spent, "{'since':'x','tokens':{'ann':[500,50,0]}}"); /* of before we began */
    assert_true(ann->runs.used == 0);
    hear(spent, "{'since':'x','tokens':{'ann':[507,50,0]}}");
    assert_true(ann->runs.used == 7 && ann->cpu_s.used == 0);
    hear(spent, "{'since':'x','tokens':{'ann':[507,50,0]}}"); /* nothing new */
    assert_true(ann->runs.used == 7);
    hear(spent, "{'since':'y','tokens':{'ann':[2,30,0]}}"); /* it has begun again */
    assert_true(ann->runs.used == 9 && ann->cpu_s.used == 30);
    assert_int_equal(quota_take_run(ann, NOW, &wait, &err), 0);
    assert_true(quota_take_run(ann, NOW, &wait, &err) < 0);
    assert_error(&err, E_BUSY, "`runs_per_minute`");
    assert_true(ann->runs.spent == 1); /* what others have counted is not told again */
    spent_free(spent);
}

TEST(a_machine_that_lies_takes_no_more_than_two_allowances)
{
    static const char *const said[] = {
        "{'since':'x','tokens':{'ann':[1e300,-5,0]}}",
        "{'since':'x','tokens':{'ann':[-1e300,1e300,1e300]}}",
        "{'since':'x','tokens':{'ann':[1e300]}}",
        "{'since':'x','tokens':{'ann':'text'}}",
        "{'since':7,'tokens':{'ann':{}}}",
        "{'since':'x','tokens':{'nobody':[1,1,1],'':[1,1,1]}}",
        "{'since':'x','tokens':[]}",
        "{'since':'z'}",
        "{}",
        "null",
        "'text'",
    };
    struct spent *spent = spent_new();

    start_over();
    hear(spent, "{'since':'x','tokens':{}}");
    for (size_t i = 0; i < ARRAY_SIZE(said); i++)
        hear(spent, said[i]);
    assert_true(ann->runs.used == 20 && ann->cpu_s.used == 200 && ann->bytes.used == 0);
    spent_free(spent);
}

UNIT_MAIN_WITH(open_all, close_all)
