#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/fold.h"
#include "sandbox/protected.h"
#include "sandbox/protected_internal.h"

static char base[64];

static const char *at(const char *name)
{
    static char path[4][1024];
    static unsigned turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, sizeof(path[0]), "%s/%s", base, name);
    return p;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof(base), "/tmp/belljar-protected.XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_dir(const char *name)
{
    assert_true(mkdir(at(name), 0755) == 0 || errno == EEXIST);
}

static void make_file(const char *name)
{
    cleanup_close int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
}

#define assert_protected(path)                                                                     \
    do {                                                                                           \
        if (!protected_judge(-1, (path)))                                                          \
            fail_msg("\"%s\" is not protected", (path));                                           \
    } while (0)

#define assert_free(path)                                                                          \
    do {                                                                                           \
        const struct protected_name *row_ = protected_judge(-1, (path));                           \
        if (row_)                                                                                  \
            fail_msg("\"%s\" is protected by %s", (path), row_->pattern);                          \
    } while (0)

/* --- the table --- */

TEST(every_row_protects_its_own_name_at_any_depth)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);
    char path[512];

    assert_true(count > 500);
    for (size_t i = 0; i < count; i++) {
        const char *pattern = rows[i].pattern;
        char plain[256];
        size_t n = 0;

        for (const char *c = pattern; *c; c++)
            plain[n++] = *c == '*' ? 'x' : *c;
        plain[n] = '\0';
        assert_true(rows[i].reason && strlen(rows[i].reason) > 5 && strlen(rows[i].reason) < 100);
        (void)snprintf(path, sizeof(path), "%s%s", pattern[0] == '/' ? "" : "/home/u/a/", plain);
        assert_protected(path);
        (void)snprintf(path, sizeof(path), "%s%s/below/it", pattern[0] == '/' ? "" : "/", plain);
        if (strcmp(pattern, ".git") != 0)
            assert_protected(path);
    }
}

TEST(no_row_stands_twice)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);

    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            assert_string_not_equal(rows[i].pattern, rows[k].pattern);
}

TEST(ordinary_names_are_free)
{
    static const char *const paths[] = {
        "/home/u/p/Makefile",
        "/home/u/p/package.json",
        "/home/u/p/src/main.c",
        "/home/u/p/README.md",
        "/home/u/p/pyproject.toml",
        "/home/u/p/.gitignore",
        "/home/u/p/.gitattributes",
        "/home/u/p/.github/workflows/ci.yml",
        "/home/u/p/config/settings.py",
        "/home/u/p/vite.config.ts",
        "/home/u/p/jest.config.js",
        "/home/u/p/next.config.mjs",
        "/home/u/p/tsconfig.json",
        "/home/u/p/setup.cfg",
        "/home/u/p/conftest.py",
        "/home/u/p/build.rs",
        "/home/u/p/CMakeLists.txt",
        "/home/u/p/Jenkinsfile",
        "/home/u/p/.gitlab-ci.yml",
        "/home/u/p/default.nix",
        "/home/u/p/.env.example",
        "/home/u/p/bin/run",
        "/home/u/p/bin/pythonize",
        "/home/u/p/docs/knowledge-base.md",
        "/home/u/p/node_modules/a/tailwind.config.js",
        "/home/u/p/hooks/useThing.ts",
        "/home/u/p/objects/x",
        "/home/u/p/refs",
        "/home/u/p/node_modules/.bin/tsc",
        "/home/u/p/build/compile_commands.json",
        "/home/u/p/tests/test_env.py",
        "/home/u/p/environment",
        "/home/u/p/.config",
        "/home/u/p/.config/app/settings.json",
        "/home/u/p/.local/share/app",
        "/home/u/p/git/config",
        "/home/u/p/gitx~",
        "/home/u/p/file~1.txt",
        "/home/u/p/.cache/pip/x",
        "/home/u/p/my.bashrc",
        "/home/u/p/.bashrc.bak",
        "/home/u/p/a.git.b/x",
        "/home/u/p/venvs",
        "/home/u/p/\xff\xfe/x",
        "/",
        "",
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_free(paths[i]);
}

TEST(patterns_match_across_the_root_of_a_grant_and_deep_below_it)
{
    /* The path is the grant's and what follows: where the grant begins makes no difference. */
    assert_protected("/home/u/.config/git/config");
    assert_protected("/home/u/.config/git");
    assert_free("/home/u/.config");
    assert_protected("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/.local/lib/python3.11/site-packages/x.py");
    assert_protected("/srv/.local/share/systemd/user/x.service");
    assert_protected("/x/.config/.config/git/hooks/y");
    assert_free("/x/.config/y/git");
}

TEST(anchored_patterns_match_from_the_root_only)
{
    assert_protected("/etc/cron.d/x");
    assert_protected("/etc/crontab");
    assert_protected("/etc/belljar/belljar.toml");
    assert_free("/home/u/etc/cron.d/x");
    assert_free("/home/u/etc/belljar");
}

TEST(packages_bring_settings_of_linters_along)
{
    assert_protected("/home/u/p/.eslintrc.json");
    assert_protected("/home/u/p/src/.eslintrc.json");
    assert_free("/home/u/p/node_modules/a/.eslintrc.json");
    assert_free("/home/u/p/node_modules/@s/a/lib/.prettierrc");
    assert_protected("/home/u/p/node_modules/a/.envrc");
    assert_protected("/home/u/p/node_modules/a/.git/config");
    assert_protected("/home/u/p/node_modules/a/.vscode/tasks.json");
}

/* --- spellings --- */

TEST(spellings_that_some_file_system_takes_for_the_name_count)
{
    static const char *const paths[] = {
        "/p/.GIT/config",
        "/p/.Git/Hooks/x",
        "/p/claude.md",
        "/p/Claude.MD",
        "/p/.BASHRC",
        "/p/.bash\xe2\x80\x8brc",     /* zero width space */
        "/p/.g\xe2\x80\x8cit/config", /* zero width non-joiner */
        "/p/\xef\xbb\xbf.envrc",      /* BOM */
        "/p/.en\xc2\xadvrc",          /* soft hyphen */
        "/p/.envrc\xef\xb8\x8f",      /* variation selector */
        "/p/.env\xcd\x8frc",          /* grapheme joiner */
        "/p/.envrc.",
        "/p/.envrc...",
        "/p/.envrc ",
        "/p/.envrc . .",
        "/p/.envrc::$DATA",
        "/p/.git::$INDEX_ALLOCATION/config",
        "/p/.envrc:stream",
        "/p/GIT~1/config",
        "/p/git~2/hooks",
        "/p/GI7EBA~1",
        "/p/ENVRC~1",
        "/p/BASHRC~1",
        "/p/VSCODE~3/tasks.json",
        "/p/\xef\xbc\x8e\xef\xbd\x87\xef\xbd\x89\xef\xbd\x94/config", /* fullwidth */
        "/p/.g\xc4\xb1t/config",                                      /* dotless i */
        "/p/.g\xc4\xb0t/config",                                      /* dotted I */
        "/p/.ba\xc5\xbfhrc",                                          /* long s */
        "/p/.\xc3\x9fh/authorized_keys",                              /* sharp s is ss */
        "/p/.\xe1\xba\x9eh/config",                                   /* capital sharp s */
        "/p/.con\xef\xac\x81g/git/config",                            /* ligature fi */
        "/p/.doc\xe2\x84\xaa\x65r/config.json",                       /* Kelvin sign */
        "/p/.\xf0\x9d\x90\x9e\xf0\x9d\x90\xa7vrc",                    /* mathematical bold e, n */
        "/p/.\xe2\x93\x96\xe2\x93\x98\xe2\x93\xa3/config",            /* circled letters */
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_protected(paths[i]);
}

TEST(folding_is_bounded_and_keeps_what_it_does_not_know)
{
    char out[FOLD_MAX], name[255 * 2];

    memset(name, 0, sizeof(name));
    for (size_t i = 0; i + 3 <= 255; i += 3)
        memcpy(name + i, "\xe2\x85\xa7", 3); /* one roman numeral, four letters */
    assert_true(fold_name(name, 255, out) <= FOLD_MAX);
    assert_int_equal(fold_name("\xff\xc3", 2, out), 2);
    assert_memory_equal(out, "\xff\xc3", 2);
    assert_int_equal(fold_name("...", 3, out), 1);
    assert_int_equal(fold_name("\xe2\x80\x8b", 3, out), 0);
    assert_int_equal(fold_name(":x", 2, out), 2);
}

/* --- git --- */

TEST(what_git_writes_in_ordinary_work_is_free)
{
    static const char *const names[] = {
        "index",
        "index.lock",
        "HEAD",
        "HEAD.lock",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "COMMIT_EDITMSG",
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "AUTO_MERGE",
        "packed-refs",
        "packed-refs.lock",
        "packed-refs.new",
        "refs/heads/main",
        "refs/heads/config",
        "refs/remotes/origin/HEAD",
        "refs/heads/a/hooks",
        "logs/HEAD",
        "logs/refs/heads/main",
        "objects/ab",
        "objects/ab/cdef",
        "objects/ab/tmp_obj_x",
        "info/refs",
        "info/refs.lock",
        "gc.pid",
        "gc.pid.lock",
        "shallow.lock",
        "worktrees/w/index",
        "worktrees/w/HEAD",
        "worktrees/w/logs/HEAD",
        "modules/s/index.lock",
        "modules/s/refs/heads/main",
        "modules/a/b/objects/ab/cd",
        "modules/s/logs/HEAD",
        "modules/s/modules/t/index",
        "lfs/objects/ab/cd",
    };
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "/home/u/p/.git/%s", names[i]);
        assert_free(path);
    }
}

TEST(what_directs_git_is_protected)
{
    static const char *const names[] = {
        "",
        "config",
        "config.lock",
        "Config",
        "config.worktree",
        "hooks",
        "hooks/pre-commit",
        "hooks/a/b",
        "commondir",
        "gitdir",
        "info",
        "info/attributes",
        "info/exclude",
        "info/grafts",
        "info/sparse-checkout",
        "modules",
        "modules/s",
        "modules/s/config",
        "modules/a/b/c/config",
        "modules/s/hooks/x",
        "modules/refs/config",
        "modules/s/commondir",
        "modules/s/info/attributes",
        "modules/s/refs/hooks/x",
        "worktrees",
        "worktrees/w",
        "worktrees/w/commondir",
        "worktrees/w/gitdir",
        "worktrees/w/config.worktree",
        "rebase-merge",
        "rebase-merge/git-rebase-todo",
        "rebase-apply/x",
        "sequencer/todo",
        "objects/info/alternates",
        "objects/info/http-alternates",
        "objects/info/packs",
        "objects/info/commit-graphs/x",
        "objects/pack",
        "objects/pack/pack-1.idx",
        "refs/replace",
        "refs/Replace/x",
        "modules/s/refs/replace/x",
        "rr-cache",
        "rr-cache/x/postimage",
        "reftable/x",
        "MERGE_AUTOSTASH",
        "BISECT_LOG",
        "description",
        "sharedindex.1234",
        "objects/x",
        "branches/x",
        "remotes/origin",
        "new-thing-of-git",
        "BISECT_NAMES",
        "hooks.x",
        "svn/config",
        "objects/ab/.envrc",
        "refs/.git/config",
    };
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "/home/u/p/.git%s%s", *names[i] ? "/" : "", names[i]);
        assert_protected(path);
    }
}

TEST(what_git_believes_is_known)
{
    static const struct {
        const char *path;
        enum protected_data data;
    } places[] = {
        {".git/index", PROTECTED_DATA_INDEX},
        {".GIT/Index", PROTECTED_DATA_INDEX},
        {".git/index.lock", PROTECTED_DATA_NONE},
        {"index", PROTECTED_DATA_NONE},
        {".git/worktrees/w/index", PROTECTED_DATA_INDEX},
        {".git/modules/m/index", PROTECTED_DATA_INDEX},
        {".git/modules/lfs/m/index", PROTECTED_DATA_INDEX},
        {".git/packed-refs", PROTECTED_DATA_PACKED_REFS},
        {".git/MERGE_RR", PROTECTED_DATA_MERGE_RR},
        {".git/objects", PROTECTED_DATA_OBJECTS},
        {".git/objects/ab", PROTECTED_DATA_OBJECTS},
        {".git/objects/ab/0123456789012345678901234567890123456g", PROTECTED_DATA_NONE},
        {".git/objects/ab/01234567890123456789012345678901234567", PROTECTED_DATA_OBJECT},
        {".git/objects/AB/ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEF01", PROTECTED_DATA_OBJECT},
        {".git/modules/m/objects/ab/01234567890123456789012345678901234567", PROTECTED_DATA_OBJECT},
        {".git/objects/tmp_x/ab/01234567890123456789012345678901234567", PROTECTED_DATA_NONE},
    };
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        (void)snprintf(path, sizeof(path), "/home/u/p/%s", places[i].path);
        assert_int_equal(protected_judge_data(-1, path), places[i].data);
    }
}

static const struct protected_name *judge_at(const char *dir, const char *name)
{
    cleanup_close int fd = open(at(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[1024];

    assert_true(fd >= 0);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", base, dir, name);
    return protected_judge(fd, path);
}

TEST(a_git_directory_of_another_name_is_known_by_what_is_in_it)
{
    make_dir("bare");
    make_dir("bare/objects");
    make_dir("bare/refs");
    make_dir("bare/hooks");
    make_dir("bare/hooks/deep");
    make_dir("bare/objects/info");
    assert_null(judge_at("bare", "config")); /* not yet one */
    assert_non_null(judge_at("bare", "HEAD"));
    assert_non_null(judge_at("bare", "head"));
    make_file("bare/HEAD");
    assert_null(judge_at("bare", "HEAD"));
    assert_null(judge_at("bare", "index"));
    assert_null(judge_at("bare", "packed-refs"));
    assert_non_null(judge_at("bare", "config"));
    assert_non_null(judge_at("bare", "CONFIG"));
    assert_non_null(judge_at("bare", "hooks"));
    assert_non_null(judge_at("bare/hooks", "post-receive"));
    assert_non_null(judge_at("bare/hooks/deep", "x"));
    assert_non_null(judge_at("bare", "commondir"));
    assert_non_null(judge_at("bare/objects/info", "alternates"));
    assert_null(judge_at("bare/objects", "ab"));
    assert_null(judge_at("bare/refs", "config"));
}

TEST(no_directory_becomes_a_git_directory)
{
    make_dir("part");
    make_file("part/commondir");
    assert_non_null(judge_at("part", "HEAD"));
    make_dir("empty");
    assert_non_null(judge_at("empty", "HEAD")); /* two programs could make the rest at once */
    assert_null(judge_at("empty", "head"));
    assert_null(judge_at("empty", "objects"));
    assert_null(judge_at("empty", "refs"));
    assert_null(judge_at("empty", "commondir"));
    make_dir("half");
    make_file("half/HEAD");
    assert_null(judge_at("half", "HEAD"));
    assert_non_null(judge_at("half", "objects"));
    assert_non_null(judge_at("half", "refs"));
    assert_non_null(judge_at("half", "commondir"));
    make_dir("half/refs");
    assert_non_null(judge_at("half", "objects"));
}

TEST(links_are_judged_by_what_they_would_stand_for)
{
    assert_non_null(protected_judge_link(-1, "/home/u/.config"));
    assert_non_null(protected_judge_link(-1, "/home/u/.local"));
    assert_non_null(protected_judge_link(-1, "/home/u/.local/share"));
    assert_non_null(protected_judge_link(-1, "/home/u/.cargo"));
    assert_non_null(protected_judge_link(-1, "/home/u/p/.git"));
    assert_non_null(protected_judge_link(-1, "/home/u/p/.git/objects"));
    assert_non_null(protected_judge_link(-1, "/home/u/p/.hg"));
    assert_non_null(protected_judge_link(-1, "/home/u/p/.github"));
    assert_null(protected_judge_link(-1, "/home/u/p/latest"));
    assert_null(protected_judge_link(-1, "/home/u/p/.config/app"));
}

static const struct protected_name *judge_move(const char *dir, const char *path)
{
    cleanup_close int fd = open(at(dir), O_PATH | O_NOFOLLOW | O_CLOEXEC);

    assert_true(fd >= 0);
    return protected_judge_move(fd, "/home/u/old", path);
}

static const struct protected_name *judge_move_from(const char *dir, const char *from,
                                                    const char *to)
{
    cleanup_close int fd = open(at(dir), O_PATH | O_NOFOLLOW | O_CLOEXEC);

    assert_true(fd >= 0);
    return protected_judge_move(fd, from, to);
}

TEST(a_moved_directory_is_judged_by_what_is_in_it)
{
    make_dir("m");
    make_dir("m/git");
    make_file("m/git/config");
    make_dir("plain");
    make_dir("plain/app");
    make_dir("deep");
    make_dir("deep/share");
    make_dir("deep/share/systemd");
    make_dir("linked");
    assert_int_equal(symlink("../m/git", at("linked/share")), 0);
    assert_int_equal(symlink("m", at("link")), 0);
    make_file("file");
    assert_non_null(judge_move("m", "/home/u/.config"));
    assert_non_null(judge_move("m", "/home/u/.CONFIG"));
    assert_null(judge_move("m", "/home/u/x"));
    assert_null(judge_move("plain", "/home/u/.config"));
    assert_non_null(judge_move("deep", "/home/u/.local"));
    assert_null(judge_move("deep", "/home/u/.cargo"));
    assert_non_null(judge_move("linked", "/home/u/.local"));
    assert_non_null(judge_move("link", "/home/u/.config"));
    assert_null(judge_move("link", "/home/u/x"));
    assert_null(judge_move("file", "/home/u/.config"));
    assert_non_null(judge_move("file", "/home/u/.envrc"));
    assert_non_null(judge_move("m", "/home/u/p/.git"));
}

TEST(no_link_gets_into_a_git_directory)
{
    make_dir("ways");
    make_dir("ways/deep");
    assert_int_equal(symlink("/etc", at("ways/deep/l")), 0);
    assert_int_equal(symlink("/etc", at("way-out")), 0);
    make_dir("branches");
    make_file("branches/topic");
    assert_non_null(judge_move("way-out", "/home/u/p/.git/COMMIT_EDITMSG"));
    assert_non_null(judge_move("way-out", "/home/u/p/.git/logs/HEAD"));
    assert_non_null(judge_move("way-out", "/home/u/p/.git/modules/m/MERGE_MSG"));
    assert_non_null(judge_move("way-out", "/home/u/p/.git/objects/ab/cd"));
    assert_non_null(judge_move("ways", "/home/u/p/.git/refs/heads/x"));
    assert_null(judge_move("ways", "/home/u/p/x"));
    assert_null(judge_move("branches", "/home/u/p/.git/refs/heads/x"));
    assert_null(judge_move("branches/topic", "/home/u/p/.git/refs/heads/x"));
}

TEST(no_git_directory_leaves_the_data_of_one)
{
    static const char *const sources[] = {
        "/home/u/p/.git/refs/heads/x", "/home/u/p/.git/logs/x", "/home/u/p/.git/objects/tmp_x/x",
        "/home/u/p/.git/modules/m/refs/x", "/home/u/p/node_modules/x"};

    make_dir("kit");
    make_dir("kit/inner");
    make_dir("kit/inner/objects");
    make_dir("kit/inner/refs");
    make_file("kit/inner/config");
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        assert_null(judge_move_from("kit", sources[i], "/home/u/p/src"));
    make_file("kit/inner/HEAD");
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        assert_non_null(judge_move_from("kit", sources[i], "/home/u/p/src"));
        assert_non_null(judge_move_from("kit/inner", sources[i], "/home/u/p/src"));
    }
    assert_non_null(judge_move_from("kit", sources[0], sources[1]));
    assert_non_null(judge_move_from("kit", "/home/u/p/src", sources[0]));
}

TEST(no_git_directory_is_completed_in_the_data_of_one)
{
    static const char *const names[] = {"HEAD", "objects", "refs"};
    int fd;

    make_dir("bits");
    fd = open(at("bits"), O_PATH | O_CLOEXEC);
    assert_true(fd >= 0);
    make_file("bits/HEAD");
    assert_null(protected_judge(fd, "/home/u/p/.git/logs/refs"));
    assert_null(protected_judge(fd, "/home/u/p/.git/refs/remotes/origin/objects"));
    assert_non_null(protected_judge(fd, "/home/u/p/.git/refs/heads/x/commondir"));
    make_dir("bits/refs");
    make_dir("bits/objects");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[PATH_MAX], part[64];

        (void)snprintf(part, sizeof(part), "bits/%s", names[i]);
        assert_int_equal(rename(at(part), at("aside")), 0);
        (void)snprintf(path, sizeof(path), "/home/u/p/.git/refs/heads/x/%s", names[i]);
        assert_non_null(protected_judge(fd, path));
        (void)snprintf(path, sizeof(path), "/home/u/p/.git/objects/info/%s", names[i]);
        assert_non_null(protected_judge(fd, path));
        (void)snprintf(path, sizeof(path), "/home/u/p/.git/%s", names[i]);
        assert_null(protected_judge(fd, path));
        assert_int_equal(rename(at("aside"), at(part)), 0);
    }
    (void)close(fd);
}

TEST(what_leaves_node_modules_is_judged_by_what_is_in_it)
{
    make_dir("package");
    make_dir("package/lib");
    make_file("package/lib/index.js");
    assert_null(judge_move_from("package", "/p/node_modules/a", "/p/src"));
    make_file("package/lib/.eslintrc.js");
    assert_non_null(judge_move_from("package", "/p/node_modules/a", "/p/src"));
    assert_non_null(judge_move_from("package", "/p/node_modules", "/p/src"));
    assert_null(judge_move_from("package", "/p/node_modules/a", "/p/node_modules/.a-x"));
    assert_null(judge_move_from("package", "/p/node_modules/a", "/q/node_modules"));
    assert_non_null(protected_judge_target("/p/src", "/p/node_modules/a"));
    assert_non_null(protected_judge_target("/p/src", "x/../Node_Modules"));
    assert_null(protected_judge_target("/p/src", "lib"));
    assert_null(protected_judge_target("/p/node_modules", "../node_modules"));
    assert_null(protected_judge_target("/p/node_modules/.bin/a", "../../node_modules/a"));
    make_dir("inner");
    assert_int_equal(symlink("/p/node_modules/a", at("inner/l")), 0);
    assert_non_null(judge_move_from("inner", "/p/node_modules/inner", "/p/src"));
    assert_non_null(judge_move_from("inner/l", "/p/node_modules/l", "/p/src"));
    assert_null(judge_move_from("inner/l", "/p/l", "/p/src"));
    assert_null(judge_move_from("inner", "/p/node_modules/inner", "/p/node_modules/b"));
}

/* In a process of its own, which is not root: root reads every directory. */
TEST(a_directory_that_cannot_be_read_counts_as_protected)
{
    int status;
    pid_t pid;

    make_dir("closed");
    assert_int_equal(chmod(base, 0755), 0);
    assert_int_equal(chmod(at("closed"), 0), 0);
    pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setresgid(4242, 4242, 4242) < 0 || setresuid(4242, 4242, 4242) < 0))
            _exit(1);
        if (!judge_move("closed", "/home/u/.config"))
            _exit(2);
        _exit(judge_move("closed", "/home/u/x") ? 3 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(at("closed"), 0700), 0);
}

/* --- Belljar's own --- */

TEST(own_places_are_known_wherever_they_are)
{
    assert_non_null(protected_judge_own("/home/u/.config/belljar/belljar.toml"));
    assert_non_null(protected_judge_own("/home/u/.local/state/belljar"));
    assert_non_null(protected_judge_own("/var/lib/belljar/environments/x"));
    assert_null(protected_judge_own("/home/u/.config"));
    assert_null(protected_judge_own("/home/u/.ssh"));
    assert_null(protected_judge_own(at("moved/belljar/key")));
    make_dir("moved");
    assert_int_equal(symlink("moved", at("way")), 0);
    assert_int_equal(protected_add_own(at("way/belljar")), 0);
    assert_int_equal(protected_add_own("relative"), 0);
    assert_int_equal(protected_add_own("/"), 0);
    assert_non_null(protected_judge_own(at("moved/belljar/key")));
    assert_non_null(protected_judge_own(at("moved/Belljar")));
    assert_null(protected_judge_own(at("moved/belljars")));
    assert_null(protected_judge_own(at("moved")));
    assert_non_null(protected_judge(-1, at("moved/belljar/state.db")));
    assert_string_equal(protected_own(0), at("way/belljar"));
    assert_string_equal(protected_own(1), at("moved/belljar"));
    assert_null(protected_own(2));
}

/* No assertion on the time: the machine may be busy. It is shown for whoever looks. */
TEST(the_common_case_costs_little)
{
    static const char *const paths[] = {
        "/home/user/project/src/components/widgets/table/cells/index.tsx",
        "/home/user/project/node_modules/left-pad/lib/internal/util/deep/a.json",
    };
    struct timespec from, to;
    unsigned turns = 200000;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; i < turns; i++)
        assert_null(protected_judge(-1, paths[i % 2]));
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    print_message("# %.0f ns for a path of ten names\n",
                  ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
                      turns);
}

UNIT_MAIN_WITH(setup, teardown)
