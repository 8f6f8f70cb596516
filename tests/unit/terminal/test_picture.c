#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "terminal/picture.h"

/* The beginning of a PNG of 640 by 480, and no more. */
#define PNG "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"

static struct run_form form_of(char *mime, const char *data, size_t len)
{
    return (struct run_form){.mime = mime, .data = (char *)(uintptr_t)data, .len = len};
}

TEST(a_png_says_how_large_it_is)
{
    uint32_t width, height;

    assert_true(picture_png_size(PNG, sizeof(PNG) - 1, &width, &height));
    assert_int_equal(width, 640);
    assert_int_equal(height, 480);
}

TEST(what_is_no_png_or_huge_is_not_drawn)
{
    static const struct {
        const char *data;
        size_t len;
    } bad[] = {
        {"", 0},
        {PNG, sizeof(PNG) - 2},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDX\0\0\2\x80\0\0\1\xe0", 24},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\1\xe0", 24},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\0\0\1\xe0", 24},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\1\0\0", 24},
        {"\x1b]0;hello\a\x1b]0;hello\a\x1b]0;hello\a", 30},
    };
    static char mime[] = "image/png";
    cleanup(buf_done) struct buf out = {0};
    uint32_t width, height;

    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct run_form form = form_of(mime, bad[i].data, bad[i].len);

        assert_false(picture_png_size(bad[i].data, bad[i].len, &width, &height));
        assert_false(picture_draw(PICTURE_KITTY, &form, &out));
        assert_false(picture_draw(PICTURE_ITERM, &form, &out));
    }
    assert_int_equal(out.len, 0);
}

TEST(only_pngs_are_drawn_and_only_where_the_terminal_can)
{
    static char png[] = "image/png", svg[] = "image/svg+xml";
    struct run_form form = form_of(png, PNG, sizeof(PNG) - 1);
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, MIB);
    assert_false(picture_draw(PICTURE_NONE, &form, &out));
    form.mime = svg;
    assert_false(picture_draw(PICTURE_KITTY, &form, &out));
    assert_int_equal(out.len, 0);
}

TEST(the_sequences_are_those_of_the_terminals)
{
    static char mime[] = "image/png";
    struct run_form form = form_of(mime, PNG, sizeof(PNG) - 1);
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, MIB);
    assert_true(picture_draw(PICTURE_KITTY, &form, &out));
    assert_string_equal(buf_str(&out),
                        "\033_Ga=T,f=100,q=2,m=0;iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg\033\\\n");
    buf_clear(&out);
    assert_true(picture_draw(PICTURE_ITERM, &form, &out));
    assert_string_equal(buf_str(&out),
                        "\033]1337;File=inline=1;size=24:iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg\a\n");
}

/* Whatever the bytes are: the terminal gets letters, digits and our own frame. */
TEST(a_large_one_goes_in_pieces)
{
    static char mime[] = "image/png", data[100000];
    struct run_form form = form_of(mime, data, sizeof(data));
    cleanup(buf_done) struct buf out = {0};
    size_t escapes = 0, last = 0;

    memset(data, 0x1b, sizeof(data));
    memcpy(data, PNG, sizeof(PNG) - 1);
    buf_init(&out, MIB);
    assert_true(picture_draw(PICTURE_KITTY, &form, &out));
    for (size_t i = 0; i < out.len; i++)
        if (out.data[i] == '\033') {
            escapes++;
            assert_true(i - last < 4096 + 64);
            last = i;
        }
    assert_int_equal(escapes, 2 * ((sizeof(data) + 2) / 3 * 4 / 4096 + 1));
    assert_non_null(strstr(buf_str(&out), "\033_Gm=1;"));
    assert_non_null(strstr(buf_str(&out), "\033_Gm=0;"));
}

TEST(a_saved_one_is_private_and_takes_the_next_free_name)
{
    static char mime[] = "image/png", odd[] = "image/odd";
    char dir[] = "/tmp/belljar-picture-XXXXXX", text[64];
    struct run_form form = form_of(mime, PNG, sizeof(PNG) - 1);
    const char *const names[] = {"shot-1.png", "shot-2.png", "shot-1.bin"};
    struct stat st;

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *path = NULL;

        form.mime = i == 2 ? odd : mime;
        assert_int_equal(picture_save(dir, "shot", &form, &path, NULL), 0);
        assert_string_equal(path + sizeof(dir), names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(st.st_size, sizeof(PNG) - 1);
        assert_true(file_read(AT_FDCWD, path, text, sizeof(text)) > 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(text, sizeof(text), "%s/%s", dir, names[i]);
        assert_int_equal(unlink(text), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

TEST(a_place_that_is_none_is_an_error)
{
    static char mime[] = "image/png";
    struct run_form form = form_of(mime, PNG, sizeof(PNG) - 1);
    struct error err = {0};
    char *path = NULL;

    assert_int_equal(picture_save("/dev/null", "shot", &form, &path, &err), -1);
    assert_error(&err, E_SYSTEM, "/dev/null/shot-1.png");
    assert_null(path);
}

UNIT_MAIN()
