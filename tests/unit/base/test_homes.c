#include "base/homes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static int note(void *arg, uid_t uid, const char *home, struct error *err)
{
    char *seen = arg;

    (void)snprintf(seen + strlen(seen), 512 - strlen(seen), "%u=%s;", (unsigned)uid, home);
    return strcmp(home, "/stop") == 0 ? error_set(err, E_INVALID, "stopped") : 0;
}

static int read_text(const char *text, char seen[512], struct error *err)
{
    char name[] = "/tmp/belljar-homes-XXXXXX";
    int fd = mkstemp(name), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    seen[0] = '\0';
    r = homes_each(name, note, seen, err);
    (void)unlink(name);
    return r;
}

TEST(users_with_a_home_are_told)
{
    char seen[512];
    struct error err = {0};

    assert_int_equal(read_text("root:x:0:0:root:/root:/bin/sh\n"
                               "nobody:x:65534:65534::/:/bin/false\n"
                               "odd:x:7:7:no home\n"
                               "relative:x:8:8::home/x:/bin/sh\n"
                               "\n:::::\n"
                               "last:x:1000:1000::/home/last\n",
                               seen, &err),
                     0);
    assert_string_equal(seen, "0=/root;1000=/home/last;");
}

TEST(an_error_ends_the_walk)
{
    char seen[512];
    struct error err = {0};

    assert_int_equal(read_text("a:x:1:1::/stop:/\nb:x:2:2::/home/b:/\n", seen, &err), -1);
    assert_string_equal(seen, "1=/stop;");
    assert_int_equal(err.code, E_INVALID);
    error_done(&err);
}

TEST(a_missing_file_has_no_users)
{
    char seen[512] = "";
    struct error err = {0};

    assert_int_equal(homes_each("/nonexistent/passwd", note, seen, &err), 0);
    assert_string_equal(seen, "");
}

UNIT_MAIN()
