/* Overlays as no overlay would write them, and directories that change meanwhile. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/overlay_internal.h"

static char base[64]; /* on a tmpfs: upper, disk, outside */
static struct overlays *overlays;

static void write_at(const char *path, const char *text)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect_text(const char *path, const char *wanted)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[64] = "";

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, wanted);
}

static int setup(void **state)
{
    struct run_grant grant = {.mode = RUN_GRANT_COW};

    (void)state;
    (void)snprintf(base, sizeof(base), "/dev/shm/belljar-overlay.XXXXXX");
    if (!mkdtemp(base) || chdir(base) < 0 || mkdir("upper", 0755) < 0 || mkdir("disk", 0755) < 0 ||
        mkdir("outside", 0755) < 0)
        return -1;
    write_at("outside/secret", "secret");
    grant.path = realpath("disk", NULL);
    grant.fd = open("disk", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (overlays_new(&grant, 1, &overlays, NULL) < 0 ||
        files_init(&overlays->items[0].upper, open("upper", O_PATH | O_DIRECTORY | O_CLOEXEC),
                   NULL) < 0)
        return -1;
    /* Files that tests write on the disk are older than the sandbox, unless they say otherwise. */
    overlays->items[0].since_ns = INT64_MAX;
    free(grant.path);
    (void)close(grant.fd);
    return 0;
}

static int teardown(void **state)
{
    cleanup_close int fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct files top = {.fd = fd, .uid = geteuid(), .gid = getegid()};

    (void)state;
    overlays_unref(overlays);
    if (chdir("/") < 0)
        return -1;
    return files_delete(&top, strrchr(base, '/') + 1, true, NULL);
}

static struct overlays_list list;

static int end(void **state)
{
    (void)state;
    overlays_list_done(&list);
    return teardown(state);
}

static bool all(void *arg, const struct overlay_entry *entry)
{
    (void)arg;
    (void)entry;
    return true;
}

static const struct overlay_entry *find(const char *path, enum overlay_change change)
{
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.entries[i].path, path) == 0 && list.entries[i].change == change)
            return &list.entries[i];
    fail_msg("nothing said of %s", path);
    return NULL;
}

static void look(size_t wanted)
{
    overlays_list_done(&list);
    assert_int_equal(overlays_changes(overlays, &list, NULL), 0);
    assert_int_equal(list.count, wanted);
}

/* --- rules --- */

static bool is_protected(const char *path, enum files_kind kind)
{
    return overlay_is_protected(&overlays->items[0], path, kind);
}

TEST_WITH(protected_paths_are_so_in_any_directory, setup, end)
{
    assert_true(is_protected(".bashrc", FILES_REGULAR));
    assert_true(is_protected("a/b/.git/hooks/pre-commit", FILES_REGULAR));
    assert_true(is_protected("a/.GIT/Config", FILES_REGULAR));
    assert_true(is_protected(".git", FILES_REGULAR));
    assert_true(is_protected(".git", FILES_DIRECTORY));
    assert_true(is_protected("a/.config", FILES_LINK));
    assert_false(is_protected("a/.config", FILES_DIRECTORY));
    assert_true(is_protected("a/.devcontainer/devcontainer.json", FILES_REGULAR));
    assert_true(is_protected("packages/a/claude.md", FILES_REGULAR));
    assert_true(is_protected("a/.hg/hgrc", FILES_REGULAR));
    assert_true(is_protected("a/.local/state/belljar/x", FILES_REGULAR));
    assert_false(is_protected("bashrc", FILES_REGULAR));
    assert_false(is_protected(".bashrcs", FILES_REGULAR));
    assert_false(is_protected("x.git/hooks", FILES_REGULAR));
    assert_false(is_protected("a/config", FILES_REGULAR));
}

TEST_WITH(a_repository_changes_but_does_not_come_into_being, setup, end)
{
    assert_true(is_protected(".git/objects/aa", FILES_DIRECTORY));
    assert_true(is_protected(".git/index", FILES_REGULAR));
    assert_int_equal(mkdir("disk/.git", 0755), 0);
    assert_false(is_protected(".git/objects/aa", FILES_DIRECTORY));
    assert_false(is_protected(".git/index", FILES_REGULAR));
    assert_false(is_protected(".git/HEAD", FILES_REGULAR));
    assert_true(is_protected(".git/index", FILES_LINK));
    assert_true(is_protected(".git/commondir", FILES_REGULAR));
    assert_true(is_protected(".git/rebase-merge/git-rebase-todo", FILES_REGULAR));
}

TEST_WITH(no_bare_repository_comes_into_being, setup, end)
{
    assert_true(is_protected("HEAD", FILES_REGULAR));
    assert_true(is_protected("a/Head", FILES_REGULAR));
    assert_true(is_protected("new/HEAD", FILES_LINK));
    assert_false(is_protected("new/head", FILES_DIRECTORY));
    assert_false(is_protected("repo/config", FILES_REGULAR));
    assert_int_equal(mkdir("disk/repo", 0755), 0);
    assert_int_equal(mkdir("disk/repo/a", 0755), 0);
    write_at("disk/repo/HEAD", "ref: refs/heads/main");
    assert_true(is_protected("repo/objects", FILES_DIRECTORY));
    assert_true(is_protected("repo/refs", FILES_DIRECTORY));
    assert_true(is_protected("repo/commondir", FILES_REGULAR));
    assert_int_equal(mkdir("disk/repo/objects", 0755), 0);
    assert_int_equal(mkdir("disk/repo/refs", 0755), 0);
    assert_true(is_protected("repo/config", FILES_REGULAR));
    assert_true(is_protected("repo/hooks", FILES_DIRECTORY));
    assert_true(is_protected("repo/hooks/pre-commit", FILES_REGULAR));
    assert_false(is_protected("repo/HEAD", FILES_REGULAR));
    assert_false(is_protected("repo/configuration", FILES_REGULAR));
    assert_false(is_protected("repo/a/config", FILES_REGULAR));
}

TEST_WITH(what_links_on_the_disk_lead_to_is_protected, setup, end)
{
    assert_int_equal(mkdir("disk/local", 0755), 0);
    assert_int_equal(mkdir("upper/local", 0755), 0);
    assert_int_equal(symlink("local/envrc", "disk/.envrc"), 0);
    assert_int_equal(symlink("later", "disk/.npmrc"), 0);
    write_at("disk/local/envrc", "mine");
    write_at("upper/local/envrc", "evil");
    write_at("upper/later", "evil");
    write_at("upper/local/other", "fine");
    look(3);
    assert_int_equal(find("local/envrc", OVERLAY_CHANGED)->obstacle, OVERLAY_PROTECTED);
    assert_int_equal(find("later", OVERLAY_CREATED)->obstacle, OVERLAY_PROTECTED);
    assert_int_equal(find("local/other", OVERLAY_CREATED)->obstacle, OVERLAY_NO_OBSTACLE);
    overlays_apply(overlays, &list, true, all, NULL);
    expect_text("disk/local/envrc", "mine");
    expect_text("disk/local/other", "fine");
    assert_int_equal(access("disk/later", F_OK), -1);
}

TEST(links_stay_or_lead_out)
{
    static const char *const stay[] = {"a", "a/b", "../x", "../../x/y", ".", "..", "../..", "a//b"};
    static const char *const out[] = {"",       "/",           "/etc",    "../../../x", "a/../..",
                                      "a/../b", "..//../../x", "../a/..", "a//../b"};

    for (size_t i = 0; i < ARRAY_SIZE(stay); i++)
        assert_true(overlay_link_stays("d/e/link", stay[i]));
    for (size_t i = 0; i < ARRAY_SIZE(out); i++)
        if (overlay_link_stays("d/e/link", out[i]))
            fail_msg("%s leads out", out[i]);
    assert_false(overlay_link_stays("link", ".."));
}

/* --- overlays --- */

TEST_WITH(what_is_the_same_is_no_change, setup, end)
{
    write_at("upper/a", "same");
    write_at("disk/a", "same");
    assert_int_equal(mkdir("upper/d", 0755), 0);
    assert_int_equal(mkdir("disk/d", 0755), 0);
    look(0);
    assert_int_equal(chmod("upper/a", 0600), 0);
    look(1);
    assert_int_equal(find("a", OVERLAY_CHANGED)->mode, 0600);
}

TEST_WITH(a_whiteout_deletes_all_below_and_over_nothing_nothing, setup, end)
{
    assert_int_equal(mkdir("disk/d", 0755), 0);
    write_at("disk/d/f", "f");
    assert_int_equal(mknod("upper/d", S_IFCHR, makedev(0, 0)), 0);
    assert_int_equal(mknod("upper/none", S_IFCHR, makedev(0, 0)), 0);
    look(2);
    assert_int_equal(find("d/f", OVERLAY_DELETED)->obstacle, OVERLAY_NO_OBSTACLE);
    overlays_apply(overlays, &list, false, all, NULL);
    assert_int_equal(access("disk/d", F_OK), -1);
    look(0);
}

TEST_WITH(only_a_proper_mark_hides_what_is_below, setup, end)
{
    assert_int_equal(mkdir("disk/d", 0755), 0);
    write_at("disk/d/f", "f");
    assert_int_equal(mkdir("upper/d", 0755), 0);
    if (setxattr("upper/d", "user.overlay.opaque", "n", 1, 0) < 0) {
        print_message("# skipped: this kernel's tmpfs has no such attributes (Linux 6.6)\n");
        skip();
    }
    look(0);
    assert_int_equal(setxattr("upper/d", "user.overlay.opaque", "yes", 3, 0), 0);
    look(0);
    assert_int_equal(setxattr("upper/d", "user.overlay.opaque", "y", 1, 0), 0);
    look(1);
    assert_int_equal(find("d/f", OVERLAY_DELETED)->change, OVERLAY_DELETED);
}

TEST_WITH(what_is_no_file_is_not_applied, setup, end)
{
    assert_int_equal(mkfifo("upper/fifo", 0644), 0);
    assert_int_equal(symlink("../outside/secret", "upper/link"), 0);
    assert_int_equal(symlink("/etc", "upper/dir"), 0);
    look(3);
    assert_int_equal(find("fifo", OVERLAY_CREATED)->obstacle, OVERLAY_SPECIAL);
    assert_int_equal(find("link", OVERLAY_CREATED)->obstacle, OVERLAY_LEADS_OUT);
    overlays_apply(overlays, &list, true, all, NULL);
    assert_int_equal(rmdir("disk"), 0);
    assert_int_equal(mkdir("disk", 0755), 0);
}

TEST_WITH(rights_of_others_are_not_carried_over, setup, end)
{
    struct stat st;

    write_at("upper/tool", "x");
    assert_int_equal(chmod("upper/tool", 06755), 0);
    look(1);
    overlays_apply(overlays, &list, false, all, NULL);
    assert_int_equal(stat("disk/tool", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
}

/* A directory of the disk that has become a link since the list was made. */
TEST_WITH(a_link_on_the_disk_is_not_followed, setup, end)
{
    assert_int_equal(mkdir("disk/d", 0755), 0);
    assert_int_equal(mkdir("upper/d", 0755), 0);
    write_at("upper/d/secret", "evil");
    look(1);
    assert_int_equal(rmdir("disk/d"), 0);
    assert_int_equal(symlink("../outside", "disk/d"), 0);
    overlays_apply(overlays, &list, true, all, NULL);
    assert_int_not_equal(list.entries[0].obstacle, OVERLAY_NO_OBSTACLE);
    expect_text("outside/secret", "secret");
}

/* And one of the overlay. */
TEST_WITH(a_link_in_the_overlay_is_not_followed, setup, end)
{
    assert_int_equal(mkdir("upper/d", 0755), 0);
    write_at("upper/d/secret", "mine!!");
    look(2);
    assert_int_equal(rename("upper/d", "upper/gone"), 0);
    assert_int_equal(symlink("../outside", "upper/d"), 0);
    overlays_apply(overlays, &list, true, all, NULL);
    assert_int_equal(access("disk/d/secret", F_OK), -1);
}

TEST_WITH(content_that_was_not_listed_is_not_applied, setup, end)
{
    write_at("upper/f", "listed");
    look(1);
    write_at("upper/f", "other!");
    overlays_apply(overlays, &list, true, all, NULL);
    assert_int_equal(list.entries[0].obstacle, OVERLAY_FAILED);
    assert_int_equal(access("disk/f", F_OK), -1);
}

TEST_WITH(what_changed_on_the_disk_is_a_conflict_until_forced, setup, end)
{
    write_at("disk/f", "old");
    write_at("upper/f", "theirs");
    overlays->items[0].since_ns = 1;
    look(1);
    assert_int_equal(list.entries[0].obstacle, OVERLAY_CONFLICT);
    overlays_apply(overlays, &list, false, all, NULL);
    expect_text("disk/f", "old");
    overlays_apply(overlays, &list, true, all, NULL);
    expect_text("disk/f", "theirs");
    assert_true(list.entries[0].is_done);
    assert_int_equal(
        overlays_note_base(overlays, 0, "f", list.entries[0].ctime_ns, list.entries[0].inode, NULL),
        0);
    write_at("upper/f", "again");
    look(1);
    assert_int_equal(list.entries[0].obstacle, OVERLAY_NO_OBSTACLE);
}

/* Between the list and the writing somebody saves the file, or makes one of that name. */
TEST_WITH(what_is_saved_meanwhile_is_kept, setup, end)
{
    write_at("disk/f", "old");
    write_at("upper/f", "theirs");
    write_at("upper/new", "theirs");
    look(2);
    assert_int_equal(unlink("disk/f"), 0);
    write_at("disk/f", "mine");
    write_at("disk/new", "mine");
    list.entries[0].ctime_ns -= list.entries[0].ctime_ns > 0; /* the same tick of the clock */
    overlays_apply(overlays, &list, false, all, NULL);
    assert_int_equal(list.entries[0].obstacle, OVERLAY_CONFLICT);
    assert_int_equal(list.entries[1].obstacle, OVERLAY_CONFLICT);
    expect_text("disk/f", "mine");
    expect_text("disk/new", "mine");
}

TEST_WITH(a_list_that_differs_in_anything_has_another_number, setup, end)
{
    uint8_t one[SHA256_BYTES], two[SHA256_BYTES];

    write_at("upper/f", "a");
    look(1);
    overlays_list_digest(overlays, &list, one);
    look(1);
    overlays_list_digest(overlays, &list, two);
    assert_memory_equal(one, two, sizeof(one));
    write_at("upper/f", "b");
    look(1);
    overlays_list_digest(overlays, &list, two);
    assert_memory_not_equal(one, two, sizeof(one));
    assert_int_equal(chmod("upper/f", 0755), 0);
    look(1);
    overlays_list_digest(overlays, &list, one);
    assert_memory_not_equal(one, two, sizeof(one));
}

TEST_WITH(paths_are_asked_for_as_they_are_shown, setup, end)
{
    char whole[128];

    assert_int_equal(mkdir("upper/d", 0755), 0);
    write_at("upper/d/a\nb", "x");
    look(2);
    (void)snprintf(whole, sizeof(whole), "%s/disk/d", base);
    assert_true(overlays_is_below(overlays, &list.entries[1], "d/a\\x0ab"));
    assert_true(overlays_is_below(overlays, &list.entries[1], "d"));
    assert_true(overlays_is_below(overlays, &list.entries[1], "d/"));
    assert_true(overlays_is_below(overlays, &list.entries[1], whole));
    assert_false(overlays_is_below(overlays, &list.entries[1], "d/a"));
    assert_false(overlays_is_below(overlays, &list.entries[1], "/d"));
    assert_false(overlays_is_below(overlays, &list.entries[1], ""));
}

UNIT_MAIN()
