#include "vm/log.h"

#include <sys/mman.h>

#include "base/cleanup.h"
#include "unit.h"
#include "wire/machine.h"

static struct vm_log *a_log;
static struct machine_log *file; /* as belljar-machine has it */

static int set_up(void **state)
{
    (void)state;
    a_log = vm_log_new();
    assert_non_null(a_log);
    return 0;
}

static void forget_file(void)
{
    if (file)
        (void)munmap(file, sizeof(*file));
    file = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    forget_file();
    vm_log_free(a_log);
    return 0;
}

#define LOG_TEST(name) TEST_WITH(name, set_up, tear_down)

static void begin(void)
{
    forget_file();
    assert_int_equal(vm_log_begin(a_log, NULL), 0);
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, vm_log_fd(a_log), 0);
    assert_ptr_not_equal(file, MAP_FAILED);
}

static void say(const char *text)
{
    for (; *text; text++)
        file->ring[file->total++ % MACHINE_LOG_BYTES] = *text;
}

static void check(const char *expected)
{
    cleanup(buf_done) struct buf text = BUF_OF(VM_LOG_TEXT);

    assert_int_equal(vm_log_text(a_log, &text, NULL), 0);
    assert_string_equal(buf_str(&text), expected);
}

LOG_TEST(a_log_without_a_machine_is_empty)
{
    check("");
}

LOG_TEST(bytes_of_a_stranger_are_made_printable)
{
    begin();
    say("one\r\ntwo\t\x1b[2J\x07\xc3\xa9\n");
    check("one\ntwo\t?[2J???\n");
}

LOG_TEST(a_line_without_an_end_gets_one)
{
    begin();
    say("half");
    check("half\n");
}

LOG_TEST(the_log_of_the_machine_before_is_kept)
{
    begin();
    say("first");
    begin();
    say("second\n");
    check("first\n--- the next machine ---\nsecond\n");
    begin();
    check("second\n--- the next machine ---\n");
}

/* A flood: the last bytes are there, from the start of a line on. */
LOG_TEST(the_last_bytes_count)
{
    cleanup(buf_done) struct buf text = BUF_OF(VM_LOG_TEXT);
    char line[16];

    begin();
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(line, sizeof(line), "line %05d\n", i);
        say(line);
    }
    assert_int_equal(vm_log_text(a_log, &text, NULL), 0);
    assert_true(text.len <= MACHINE_LOG_BYTES && text.len > MACHINE_LOG_BYTES - 11);
    assert_memory_equal(buf_str(&text), "line ", 5);
    assert_string_equal(buf_str(&text) + text.len - 11, "line 19999\n");
}

LOG_TEST(a_number_that_lies_reads_no_further_than_the_ring)
{
    static const uint64_t lies[] = {UINT64_MAX, UINT64_MAX / 2, MACHINE_LOG_BYTES + 1, 1};

    begin();
    memset(file->ring, 'x', sizeof(file->ring));
    for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
        cleanup(buf_done) struct buf text = BUF_OF(VM_LOG_TEXT);

        file->total = lies[i];
        assert_int_equal(vm_log_text(a_log, &text, NULL), 0);
        assert_true(text.len <= MACHINE_LOG_BYTES + 1);
    }
}

/* A process that has the file cannot make reading it fail. */
LOG_TEST(the_file_keeps_its_size)
{
    begin();
    assert_int_equal(ftruncate(vm_log_fd(a_log), 0), -1);
    assert_int_equal(ftruncate(vm_log_fd(a_log), 2 * sizeof(*file)), -1);
}

UNIT_MAIN()
