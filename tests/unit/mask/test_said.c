/* Sentences that name a value behind it: it is masked wherever the stream is cut, prompts are not
 * delayed, and sentences about other things stay. */
#include "unit.h"

#include "base/cleanup.h"
#include "mask/feed.h"

#define LABEL "[REDACTED_SECRET]"

static const struct {
    const char *text, *masked;
} sentences[] = {
    {"Willow1234 is the password\n", "Willow" LABEL " is the password\n"},
    {"kzcJWzoxyp4Q is my password for db1.", "kzc" LABEL " is my password for db1."},
    {"\"Willow1234\" is the new root password\n", "\"" LABEL "\" is the new root password\n"},
    {"`Willow1234` was your password, I think", "`" LABEL "` was your password, I think"},
    {"try p3pper99 as password", "try p" LABEL " as password"},
    {"harbor!8812 (the password)", "harbor" LABEL " (the password)"},
    {"x8Kq02mmZz81LpQe77aa is the API key\n", "x[REDACTED_API_KEY] is the API key\n"},
    {"{\"m\": \"hello\\nWillow1234 will be your password\"}",
     "{\"m\": \"hello\\nWillow" LABEL " will be your password\"}"},
};

static const char *const clean[] = {
    "server01 is the password server\n",
    "python3.11 is the token service's runtime\n",
    "db01.example is in the password list\n",
    "build 1234 is the token count\n",
    "user1234 forgot the password\n",
    "web01 is not reachable, the password is needed\n",
    "numpy1 is a token here\n",
    "/srv/app1234 is the secret path\n",
    "sha256sum is the password digest\n",
};

static void check(const char *text, const char *masked)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut <= len; cut++) {
        begin(NULL);
        (void)feed_bytes(text, cut);
        (void)feed_bytes(text + cut, len - cut);
        assert_string_equal(finish(), masked);
    }
    begin(NULL);
    for (size_t at = 0; at < len; at++)
        (void)feed_bytes(text + at, 1);
    assert_string_equal(finish(), masked);
}

TEST(what_a_sentence_names_behind_it_is_masked)
{
    for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
        check(sentences[i].text, sentences[i].masked);
}

TEST(sentences_about_other_things_stay)
{
    for (size_t i = 0; i < ARRAY_SIZE(clean); i++)
        check(clean[i], clean[i]);
}

TEST(prompts_and_plain_words_come_out_at_once)
{
    static const char *const texts[] = {"Name: ",    "root@db1:~# ", "[y/N]",
                                        "In [12]: ", "Continue? ",   "bash-5.1$ "};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        begin(NULL);
        assert_string_equal(feed(texts[i]), texts[i]);
    }
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
