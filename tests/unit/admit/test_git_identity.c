/* The author of commits: read from files of git's settings, and all that may be wrong with them. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admit/git_identity.h"
#include "base/cleanup.h"
#include "wire/message.h"

static char home[64];
static struct config *config;

static const char *const variables[] = {
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
    "EMAIL",           "XDG_CONFIG_HOME",  "GIT_CONFIG_GLOBAL",  "GIT_CONFIG_SYSTEM"};

static int begin(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/belljar-identity.XXXXXX");
    config = config_new();
    if (!config || !mkdtemp(home))
        return -1;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        (void)unsetenv(variables[i]);
    (void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    return setenv("HOME", home, 1);
}

static int end(void **state)
{
    char path[128];

    (void)state;
    config_free(config);
    for (const char *const *name = (const char *const[]){".gitconfig", "other", "more", "fifo",
                                                         "repo/.git", "repo", "loop", NULL};
         *name; name++) {
        (void)snprintf(path, sizeof(path), "%s/%s", home, *name);
        if (unlink(path) < 0)
            (void)rmdir(path);
    }
    return rmdir(home);
}

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", home, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_dir(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", home, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* "NAME=value NAME=value": what a program that starts in this directory gets; "": nothing. */
static const char *given(const char *workdir)
{
    static char text[2048];
    struct error err = {0};
    struct run *run = run_new();
    size_t len = 0;

    *text = '\0';
    if (workdir && asprintf(&run->terms.workdir, "%s/%s", home, workdir) < 0)
        abort();
    if (git_identity_give(config, run, &err) < 0)
        fail_msg("%s", err.message);
    for (char **v = run->terms.identity; v && *v; v++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "|" : "", *v);
    run_free(run);
    return text;
}

#define BOTH(name, email)                                                                          \
    WIRE_GIT_NAME "=" name "|" WIRE_GIT_EMAIL "=" email "|GIT_CONFIG_SYSTEM=" WIRE_GIT_CONFIG

TEST_WITH(the_user_of_the_host_commits, begin, end)
{
    put(".gitconfig", "[user]\n\tname = Ada \"King\"\n\temail = ada@example.org ; mine\n");
    assert_string_equal(given("repo"), BOTH("Ada King", "ada@example.org"));
    assert_string_equal(given(NULL), ""); /* no directory is granted */
}

TEST_WITH(without_settings_nobody_does, begin, end)
{
    assert_string_equal(given("repo"), "");
    put(".gitconfig", "[user]\n\tname = \"a\\nb\"\n\temail = <a@b>\n[user \"x\"]\n\tname = x\n");
    assert_string_equal(given("repo"), "");
    (void)setenv("EMAIL", "e@example.org", 1);
    assert_string_equal(given("repo"),
                        WIRE_GIT_EMAIL "=e@example.org|GIT_CONFIG_SYSTEM=" WIRE_GIT_CONFIG);
}

TEST_WITH(a_setting_names_another_or_none, begin, end)
{
    put(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    free(config->git_identity);
    config->git_identity = strdup("Bot <bot@example.org>");
    (void)setenv("GIT_AUTHOR_NAME", "Host", 1);
    assert_string_equal(given("repo"), BOTH("Bot", "bot@example.org"));
    assert_string_equal(given(NULL), BOTH("Bot", "bot@example.org"));
    free(config->git_identity);
    config->git_identity = strdup("off");
    assert_string_equal(given("repo"), "");
}

TEST_WITH(variables_of_the_host_are_passed_on_as_such, begin, end)
{
    (void)setenv("GIT_AUTHOR_NAME", "Env", 1);
    (void)setenv("GIT_COMMITTER_EMAIL", "a\nb", 1);
    assert_string_equal(given("repo"), "GIT_AUTHOR_NAME=Env");
}

TEST_WITH(a_wish_for_signatures_is_passed_on, begin, end)
{
    put(".gitconfig", "[commit]\n\tgpgSign\n");
    assert_string_equal(given("repo"), WIRE_GIT_SIGNS "=true");
    put(".gitconfig", "[commit]\n\tgpgsign = YES\n[Commit]\n\tgpgSign = false\n");
    assert_string_equal(given("repo"), "");
}

TEST_WITH(files_include_others_where_the_directory_fits, begin, end)
{
    static const struct {
        const char *condition;
        bool is_met;
    } cases[] = {
        {"gitdir:~/repo/", true},
        {"gitdir:~/", true},
        {"gitdir:~/rep/", false},
        {"gitdir:repo/", true},
        {"gitdir:repo/.git", true},
        {"gitdir:REPO/", false},
        {"gitdir/i:REPO/", true},
        {"gitdir:~/*/.git", true},
        {"gitdir:~/repo/**", true},
        {"gitdir:./repo/", true},
        {"gitdir:/nowhere/", false},
        {"onbranch:main", false},
        {"hasconfig:remote.*.url:x", false},
        {"gitdir:", false},
        {"", false},
    };
    char text[512];

    put_dir("repo");
    put_dir("repo/.git");
    put("other", "[user]\n\temail = work@example.org\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        (void)snprintf(text, sizeof(text),
                       "[user]\n\tname = Ada\n\temail = home@example.org\n"
                       "[includeIf \"%s\"]\n\tpath = other\n",
                       cases[i].condition);
        put(".gitconfig", text);
        if ((strstr(given("repo"), "work@example.org") != NULL) != cases[i].is_met)
            fail_msg("%s", cases[i].condition);
    }
    put(".gitconfig", "[include]\n\tpath = ~/other\n[user]\n\tname = Ada\n");
    assert_string_equal(given("repo"), BOTH("Ada", "work@example.org"));
}

TEST_WITH(the_nearest_repository_above_counts, begin, end)
{
    put_dir("repo");
    put("repo/.git", "gitdir: /elsewhere\n");
    put("other", "[user]\n\tname = Work\n");
    put(".gitconfig", "[includeIf \"gitdir:~/repo/.git\"]\n\tpath = other\n");
    assert_non_null(strstr(given("repo/a/b"), "=Work"));
    assert_string_equal(given("other-repo"), "");
}

TEST_WITH(files_that_never_end_are_no_trouble, begin, end)
{
    cleanup_free char *long_one = malloc(2 << 20);
    char path[128];

    put("loop", "[include]\n\tpath = loop\n[include]\n\tpath = loop\n[user]\n\tname = Loop\n");
    (void)snprintf(path, sizeof(path), "%s/fifo", home);
    assert_int_equal(mkfifo(path, 0600), 0);
    memset(long_one, '#', 2 << 20);
    long_one[(2 << 20) - 1] = '\0';
    put("more", long_one);
    put(".gitconfig", "[include]\n\tpath = fifo\n[include]\n\tpath = more\n[include]\n\tpath = /\n"
                      "[include]\n\tpath = /dev/zero\n[include]\n\tpath = loop\n"
                      "[user]\n\temail = a@b\n");
    assert_string_equal(given("repo"), BOTH("Loop", "a@b"));
    (void)setenv("HOME", "relative", 1);
    assert_string_equal(given("repo"), "");
}

UNIT_MAIN()
