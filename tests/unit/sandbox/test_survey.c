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
#include "sandbox/survey.h"
#include "sandbox/survey_internal.h"

static char base[64];
static struct survey *survey;

static const char *at(const char *name)
{
    static char path[4][1024];
    static unsigned turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, sizeof(path[0]), "%s/g/%s", base, name);
    return p;
}

static int setup(void **state)
{
    char path[80];

    (void)state;
    (void)snprintf(base, sizeof(base), "/dev/shm/belljar-survey.XXXXXX");
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/g", base);
    return mkdir(path, 0755);
}

/* Also what is deeper than a path is long. */
static void remove_tree(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *e;
    DIR *d;

    if (fd < 0) {
        (void)unlinkat(above, name, 0);
        return;
    }
    d = fdopendir(fd);
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_tree(fd, e->d_name);
    (void)closedir(d);
    (void)unlinkat(above, name, AT_REMOVEDIR);
}

static int teardown(void **state)
{
    (void)state;
    survey_free(survey);
    survey = NULL;
    remove_tree(AT_FDCWD, base);
    return 0;
}

/* With the directories above it. */
static void make_dir(const char *name)
{
    char path[1024];

    (void)snprintf(path, sizeof(path), "%s", at(name));
    for (char *slash = path + strlen(base) + 3; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static void make_file(const char *name, const char *text)
{
    char dir[512];
    cleanup_close int fd = -1;

    (void)snprintf(dir, sizeof(dir), "%s", name);
    if (strrchr(dir, '/')) {
        *strrchr(dir, '/') = '\0';
        make_dir(dir);
    }
    fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void make_link(const char *target, const char *name)
{
    char dir[512];

    (void)snprintf(dir, sizeof(dir), "%s", name);
    if (strrchr(dir, '/')) {
        *strrchr(dir, '/') = '\0';
        make_dir(dir);
    }
    assert_int_equal(symlink(target, at(name)), 0);
}

static void make_repository(const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/objects/info", name);
    make_dir(path);
    (void)snprintf(path, sizeof(path), "%s/refs", name);
    make_dir(path);
    (void)snprintf(path, sizeof(path), "%s/HEAD", name);
    make_file(path, "ref: refs/heads/main\n");
}

static int try_survey(struct error *err)
{
    char path[80];
    cleanup_close int dir = -1;

    (void)snprintf(path, sizeof(path), "%s/g", base);
    dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    survey_free(survey);
    survey = NULL;
    return survey_new(dir, path, &survey, err);
}

static void look(void)
{
    cleanup_error struct error err = {0};

    if (try_survey(&err) < 0)
        fail_msg("%s", err.message);
}

static bool is_protected(const char *name)
{
    struct stat st;

    if (lstat(at(name), &st) == 0 && survey_judge(survey, st.st_dev, st.st_ino))
        return true;
    return survey_judge_path(survey, name) != NULL;
}

static bool holds(const char *name)
{
    struct stat st;

    assert_int_equal(lstat(at(name), &st), 0);
    return survey_holds_protected(survey, st.st_dev, st.st_ino);
}

#define assert_protected(name)                                                                     \
    do {                                                                                           \
        if (!is_protected(name))                                                                   \
            fail_msg("%s is not protected", name);                                                 \
    } while (0)

#define assert_free(name)                                                                          \
    do {                                                                                           \
        if (is_protected(name))                                                                    \
            fail_msg("%s is protected", name);                                                     \
    } while (0)

/* --- links --- */

TEST_WITH(the_target_of_a_link_with_a_protected_name_is_protected, setup, teardown)
{
    make_file("local/envrc", "x");
    make_link("local/envrc", ".envrc");
    make_file("sub/real", "x");
    make_link("real", "sub/CLAUDE.md");
    make_link(at("abs/target"), "sub/.bashrc");
    make_file("abs/target", "x");
    make_link("../shared", "p/.vscode");
    make_file("shared/tasks.json", "x");
    make_file("other", "x");
    make_link("other", "ordinary");
    look();
    assert_protected("local/envrc");
    assert_protected("sub/real");
    assert_protected("abs/target");
    assert_protected("shared");
    assert_protected("shared/tasks.json");
    assert_protected("shared/new");
    assert_free("other");
    assert_free("local/other");
    assert_true(survey_has_directories(survey));
    assert_true(holds("local"));
    assert_true(holds("abs"));
    assert_true(holds("sub"));
    assert_true(holds(""));
    assert_false(holds("other"));
}

TEST_WITH(a_link_that_leads_nowhere_keeps_its_place_empty, setup, teardown)
{
    make_link("local/envrc", ".envrc");
    make_link("a/b/../c", "sub/.profile");
    make_link("./x/./y", "p/.npmrc");
    look();
    assert_protected("local/envrc");
    assert_free("local");
    assert_protected("sub/a/c");
    assert_protected("p/x/y");
    assert_non_null(survey_judge_move(survey, -1, "local"));
    assert_non_null(survey_judge_move(survey, -1, "p/x"));
    assert_null(survey_judge_move(survey, -1, "p/z"));
    assert_false(survey_has_directories(survey));
}

TEST_WITH(each_link_on_the_way_counts, setup, teardown)
{
    make_link("a", ".envrc");
    make_link("d/b", "a");
    make_link("../c", "d/b");
    make_file("c", "x");
    make_link("circle2", "circle1");
    make_link("circle1", "circle2");
    make_link("circle1", ".zshrc");
    make_link("way/file", ".inputrc");
    make_link("dir", "way");
    make_file("dir/file", "x");
    look();
    assert_protected("a");
    assert_protected("d/b");
    assert_protected("c");
    assert_true(holds("d"));
    assert_protected("circle1");
    assert_protected("circle2");
    assert_protected("way");
    assert_protected("dir/file");
    assert_free("dir");
    assert_true(holds("dir"));
}

TEST_WITH(links_out_of_the_tree_are_not_followed, setup, teardown)
{
    make_link("/etc", ".vscode");
    make_link("../outside", ".envrc");
    make_link("../../../../../../../../etc/passwd", ".bashrc");
    make_link("../g/back", ".profile");
    make_link("/proc/self/root", ".claude");
    look();
    assert_protected("back");
    assert_free("outside");
    assert_free("etc");
}

TEST_WITH(a_link_half_way_to_a_protected_name_gives_its_names_away, setup, teardown)
{
    make_link("dotfiles/config", ".config");
    make_file("dotfiles/config/git/config", "x");
    make_dir("dotfiles/config/app");
    make_link("nowhere", "p/.local");
    make_dir("full/share/systemd");
    make_dir("bland/share/x");
    look();
    assert_protected("dotfiles/config/git");
    assert_protected("dotfiles/config/git/config");
    assert_protected("dotfiles/config/fish/new");
    assert_free("dotfiles/config/app/x");
    assert_protected("p/nowhere/bin/x");
    assert_free("p/nowhere/x");
    assert_true(holds("dotfiles"));
    assert_true(holds("dotfiles/config"));
    {
        cleanup_close int full = open(at("full"), O_PATH | O_CLOEXEC);
        cleanup_close int bland = open(at("bland"), O_PATH | O_CLOEXEC);

        assert_non_null(survey_judge_move(survey, full, "p/nowhere"));
        assert_null(survey_judge_move(survey, bland, "p/nowhere"));
    }
}

TEST_WITH(another_hard_link_of_a_protected_file_is_protected, setup, teardown)
{
    make_file(".envrc", "x");
    make_file("alone/.npmrc", "x");
    make_file("r/.git/hooks/pre-commit", "x");
    make_dir("store");
    assert_int_equal(link(at(".envrc"), at("store/1")), 0);
    assert_int_equal(link(at("r/.git/hooks/pre-commit"), at("store/2")), 0);
    make_file("store/3", "x");
    make_file(".claude/a/b/settings", "x");
    assert_int_equal(link(at(".claude/a/b/settings"), at("store/4")), 0);
    look();
    assert_protected("store/1");
    assert_protected("store/2");
    assert_free("store/3");
    assert_protected("store/4");
    assert_true(holds("alone"));
    assert_true(holds("r"));
    assert_false(holds("store"));
}

/* --- git --- */

TEST_WITH(hooks_and_includes_are_where_the_configuration_says, setup, teardown)
{
    make_repository("r/.git");
    make_file("r/.git/config", "\xef\xbb\xbf[core]\r\n"
                               "\tbare = false\r\n"
                               "  HooksPath = \"tools/my hooks\" ; where\r\n"
                               "[INCLUDE]\r\n"
                               "\tpath = ../shared.conf\r\n"
                               "[includeIf \"gitdir:~/x\"] path=../if.conf\n"
                               "[core] attributesFile = at\\\n"
                               "trs # comment\n"
                               "[filter \"f\"]\n"
                               "clean = ./scripts/clean.sh --x %f\n"
                               "[alias]\n"
                               "x = !sh scripts/alias.sh\n"
                               "[core]\n"
                               "  fsmonitor = scripts/watch\n");
    make_file("r/shared.conf", "[core]\n\teditor = \"tools/ed\"\n[include]\npath = deeper/c\n");
    make_file("r/deeper/c", "[core]\nhookspath=../x/hooks\n");
    make_file("r/scripts/clean.sh", "x");
    make_file("r/scripts/alias.sh", "x");
    make_file("r/scripts/watch", "x");
    make_file("r/scripts/other", "x");
    make_file("r/tools/ed", "x");
    look();
    assert_protected("r/tools/my hooks/pre-commit");
    assert_protected("r/shared.conf");
    assert_protected("r/if.conf");
    assert_protected("r/deeper/c");
    assert_protected("r/attrs");
    assert_protected("r/scripts/clean.sh");
    assert_protected("r/scripts/alias.sh");
    assert_protected("r/scripts/watch");
    assert_protected("r/tools/ed");
    assert_protected("x/hooks/a");
    assert_free("r/scripts/other");
    assert_free("r/tools/other");
}

TEST_WITH(hooks_below_home_and_by_absolute_path, setup, teardown)
{
    char text[256], home[128];

    make_repository("r/.git");
    (void)snprintf(text, sizeof(text), "[core]\nhooksPath = %s\n", at("abs/hooks"));
    make_file("r/.git/config", text);
    make_repository("h/.git");
    make_file("h/.git/config", "[core \"x\"]\nhooksPath=no\n[core]\nhooksPath = ~/hooks\n");
    (void)snprintf(home, sizeof(home), "%s/g/home", base);
    make_dir("home");
    (void)setenv("HOME", home, 1);
    look();
    (void)unsetenv("HOME");
    assert_protected("abs/hooks/pre-commit");
    assert_protected("home/hooks/x");
}

TEST_WITH(a_git_file_leads_to_its_git_directory, setup, teardown)
{
    char text[256];

    make_repository("main/.git/modules/sub");
    make_repository("main/.git");
    make_file("main/sub/.git", "gitdir: ../.git/modules/sub\n");
    make_file("main/.git/modules/sub/config",
              "[core]\n\tworktree = ../../../sub\n\thookspath = hk\n");
    make_repository("elsewhere/store");
    (void)snprintf(text, sizeof(text), "gitdir: %s\n", at("elsewhere/store"));
    make_file("w/.git", text);
    make_file("elsewhere/store/config", "[core]\nhooksPath=rel\n");
    make_file("dangling/.git", "gitdir: ../later\n");
    look();
    assert_protected("main/sub/hk/x");
    assert_protected("elsewhere/store/config");
    assert_protected("elsewhere/store/hooks/x");
    assert_protected("elsewhere/store/commondir");
    assert_free("elsewhere/store/index");
    assert_free("elsewhere/store/refs/heads/x");
    assert_protected("w/rel/x");
    assert_protected("later/config");
    assert_protected("later/hooks");
    assert_true(holds("elsewhere"));
    assert_true(holds("elsewhere/store"));
}

TEST_WITH(worktrees_and_what_they_share, setup, teardown)
{
    char text[256];

    make_repository("repo.git");
    make_file("repo.git/config", "[core]\nbare=true\nhooksPath=hk\n");
    make_file("repo.git/worktrees/w/HEAD", "x");
    make_file("repo.git/worktrees/w/commondir", "../..\n");
    (void)snprintf(text, sizeof(text), "gitdir: %s\n", at("repo.git/worktrees/w"));
    make_file("w/.git", text);
    make_file("odd/HEAD", "x");
    make_file("odd/commondir", "../common\r\n");
    make_dir("common");
    look();
    assert_protected("w/hk/x");
    assert_protected("repo.git/config");
    assert_protected("repo.git/hooks");
    assert_protected("repo.git/hk");
    assert_protected("repo.git/worktrees/w/commondir");
    assert_free("repo.git/worktrees/w/index");
    assert_protected("common/config");
    assert_protected("common/hooks/x");
    assert_protected("odd/commondir");
}

TEST_WITH(bare_repositories_at_any_depth_and_alternates, setup, teardown)
{
    make_repository("a/b/c/d/e/f/g/h/i/j/bare");
    make_file("a/b/c/d/e/f/g/h/i/j/bare/objects/info/alternates", "../../../far/objects\n");
    make_dir("a/b/c/d/e/f/g/h/i/far/objects/info");
    make_link("real-git", "l/.git");
    make_repository("l/real-git");
    look();
    assert_protected("a/b/c/d/e/f/g/h/i/j/bare/config");
    assert_protected("a/b/c/d/e/f/g/h/i/j/bare/hooks/x");
    assert_free("a/b/c/d/e/f/g/h/i/j/bare/HEAD");
    assert_protected("a/b/c/d/e/f/g/h/i/far/objects/info/alternates");
    assert_free("a/b/c/d/e/f/g/h/i/far/objects/ab/cd");
    assert_protected("l/real-git/config");
    assert_free("l/real-git/index");
    assert_true(holds("a/b/c/d"));
}

TEST_WITH(configuration_that_is_too_large_ends_it, setup, teardown)
{
    cleanup_error struct error err = {0};

    make_repository("r/.git");
    make_file("r/.git/config", "[core]\n");
    assert_int_equal(truncate(at("r/.git/config"), (2 << 20)), 0);
    assert_int_equal(try_survey(&err), -1);
    assert_contains(err.hint, ":cow");
    assert_error(&err, E_TOO_LARGE, "r/.git/config");
}

TEST_WITH(a_python_environment_of_any_name_is_protected, setup, teardown)
{
    make_file("myenv/pyvenv.cfg", "x");
    make_file("myenv/bin/python", "x");
    make_file("lib/bin/python", "x");
    make_file("conda/conda-meta/history", "x");
    make_link("/usr/cfg", "linked/pyvenv.cfg");
    look();
    assert_protected("myenv/bin/python");
    assert_protected("myenv/lib/python3/site-packages/x.py");
    assert_free("lib/bin/python");
    assert_protected("conda/bin/python");
    assert_protected("linked/bin/python");
    assert_true(survey_has_directories(survey));
}

/* --- odd trees --- */

TEST_WITH(no_depth_is_too_deep, setup, teardown)
{
    int fd = -1;
    struct stat st;

    fd = open(at(""), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "deeper", 0755), 0);
        next = openat(fd, "deeper", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    assert_int_equal(symlinkat("secret", fd, ".envrc"), 0);
    {
        cleanup_close int file = openat(fd, "secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_int_equal(fstat(file, &st), 0);
    }
    look();
    assert_non_null(survey_judge(survey, st.st_dev, st.st_ino));
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(survey_holds_protected(survey, st.st_dev, st.st_ino));
    assert_true(holds("deeper/deeper"));
    (void)close(fd);
}

TEST_WITH(names_of_any_bytes_and_things_that_are_no_files, setup, teardown)
{
    make_file("\xff\xfe\x80/.envrc", "x");
    make_file("new\nline/x", "x");
    assert_int_equal(mkfifo(at("fifo"), 0644), 0);
    assert_int_equal(mkfifo(at(".npmrc"), 0644), 0);
    make_dir("r/.git");
    assert_int_equal(mkfifo(at("r/.git/config"), 0644), 0);
    assert_int_equal(mkfifo(at("r/.git/commondir"), 0644), 0);
    look();
    assert_true(holds("\xff\xfe\x80"));
    assert_false(holds("new\nline"));
}

TEST_WITH(directories_that_cannot_be_read, setup, teardown)
{
    cleanup_error struct error err = {0};

    if (geteuid() == 0) {
        /* As another user, in a process of its own: root reads everything. */
        pid_t pid;
        static const mode_t closed[] = {0, 0300, 0400, 0600};
        int status;

        make_dir("mine");
        make_dir("others");
        assert_int_equal(chmod(base, 0755), 0);
        assert_int_equal(chown(at("mine"), 4242, 4242), 0);
        assert_int_equal(chmod(at("others"), 0700), 0);
        pid = fork();
        if (pid == 0) {
            if (setresgid(4242, 4242, 4242) < 0 || setresuid(4242, 4242, 4242) < 0)
                _exit(1);
            if (try_survey(NULL) < 0)
                _exit(2); /* somebody else's is passed over */
            if (mkdir(at("mine/below"), 0700) < 0)
                _exit(4);
            for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
                struct error e = {0};

                if (chmod(at("mine"), closed[i]) < 0 || try_survey(&e) == 0 || !e.hint ||
                    !strstr(e.hint, "chmod u+rx '") || !strstr(e.hint, "/mine'"))
                    _exit(3);
                error_done(&e);
            }
            _exit(chmod(at("mine"), 0500) < 0 || try_survey(NULL) < 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        return;
    }
    make_dir("mine");
    assert_int_equal(chmod(at("mine"), 0), 0);
    assert_int_equal(try_survey(&err), -1);
    assert_contains(err.hint, ":cow");
    assert_error(&err, E_DENIED, "mine` cannot be read");
    assert_int_equal(chmod(at("mine"), 0700), 0);
}

static void set_home(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", base, name);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    (void)setenv("HOME", path, 1);
}

static void link_at_home(const char *target, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/home/%s", base, name);
    assert_int_equal(symlink(target, path), 0);
}

TEST_WITH(links_from_a_home_outside_lead_into_the_tree, setup, teardown)
{
    char path[256];

    set_home("home");
    make_file("bash/rc", "x");
    make_file("config/git/config", "x");
    make_file("fish/config.fish", "x");
    link_at_home("../g/bash/rc", ".bashrc");
    link_at_home(at("zsh/later"), ".zshrc");
    link_at_home("../g/vim", ".vim");
    (void)snprintf(path, sizeof(path), "%s/home/.config", base);
    assert_int_equal(mkdir(path, 0755), 0);
    link_at_home("../../g/fish", ".config/fish");
    link_at_home("../g/config", ".local");
    look();
    assert_protected("bash/rc");
    assert_protected("zsh/later");
    assert_protected("vim/plugin/x.vim");
    assert_protected("fish/config.fish");
    assert_protected("fish");
    assert_protected("config/bin/x");
    assert_free("config/git/config");
    assert_free("bash/other");
    assert_true(holds("bash"));
    (void)unsetenv("HOME");
}

TEST_WITH(git_settings_of_the_user_lead_into_the_tree, setup, teardown)
{
    char path[256], text[512];
    cleanup_close int fd = -1;

    set_home("home");
    (void)snprintf(path, sizeof(path), "%s/home/.gitconfig", base);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    (void)snprintf(text, sizeof(text),
                   "[include]\npath = ../g/dot/gitconfig\n[core]\nhooksPath = .myhooks\n"
                   "[init]\ntemplateDir = %s\n",
                   at("template"));
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    make_file("dot/gitconfig", "[core]\npager = ../x\nattributesFile = attrs\n");
    make_repository("r/.git");
    look();
    assert_protected("dot/gitconfig");
    assert_protected("r/.myhooks/pre-commit");
    (void)unsetenv("HOME");
}

/* No assertion on the time. BELLJAR_SURVEY_FILES=1000000 makes it a measurement. */
TEST_WITH(many_files, setup, teardown)
{
    const char *wanted = getenv("BELLJAR_SURVEY_FILES");
    unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 20000;
    struct timespec from, to;
    char name[64];

    for (unsigned i = 0; i < count / 100; i++) {
        (void)snprintf(name, sizeof(name), "d%u", i);
        make_dir(name);
        for (unsigned k = 0; k < 100; k++) {
            (void)snprintf(name, sizeof(name), "d%u/component-%u.module.ts", i, k);
            assert_int_equal(mknod(at(name), S_IFREG | 0644, 0), 0);
        }
    }
    make_file("d7/.envrc", "x");
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    look();
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    print_message("# %u files in %.0f ms\n", count,
                  (double)(to.tv_sec - from.tv_sec) * 1e3 +
                      (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    assert_true(holds("d7"));
    assert_false(holds("d8"));
}

UNIT_MAIN()
