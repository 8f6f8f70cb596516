/* Rebasing replaces nearly all memory of the process, so each test does it in a child. */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/maps.h"
#include "sandbox/child.h"
#include "zygote/rebase.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define PAGE ((size_t)4096)
#define MIB  ((size_t)1 << 20)

/* A pattern that differs from page to page and from one piece of memory to the next. */
static uint8_t byte_of(unsigned seed, size_t i)
{
    return (uint8_t)(seed * 37 + i * 13 + (i >> 12) * 101 + 1);
}

static void paint(uint8_t *memory, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        memory[i] = byte_of(seed, i);
}

static bool is_painted(const uint8_t *memory, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if (memory[i] != byte_of(seed, i))
            return false;
    return true;
}

static void rebase(void)
{
    struct error err = {0};
    int r = rebase_memory(&err);

    if (r < 0)
        dprintf(2, "# %s\n", err.message);
    child_need(r == 0);
}

static uint8_t *map(size_t len)
{
    uint8_t *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    child_need(memory != MAP_FAILED);
    return memory;
}

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "# line %d: %s\n", __LINE__, #condition);                                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#define IN_CHILD(name)                                                                             \
    static int name##_(const void *unused);                                                        \
    static int name##_child(const void *unused)                                                    \
    {                                                                                              \
        rebase_prepare();                                                                          \
        (void)signal(SIGSEGV, SIG_DFL);                                                            \
        (void)signal(SIGBUS, SIG_DFL);                                                             \
        return name##_(unused);                                                                    \
    }                                                                                              \
    TEST(name)                                                                                     \
    {                                                                                              \
        assert_int_equal(in_child(name##_child, NULL), 0);                                         \
    }                                                                                              \
    static int name##_(const void *unused __attribute__((unused)))

IN_CHILD(every_byte_is_as_it_was)
{
    static const size_t sizes[] = {1, 24, 1000, 4096, 65536, 3 << 20};
    uint8_t *heap[60], *mapped = map(5 * MIB), on_stack[PAGE];

    for (unsigned i = 0; i < 60; i++) {
        heap[i] = malloc(sizes[i % 6]);
        child_need(heap[i]);
        paint(heap[i], sizes[i % 6], i);
    }
    paint(mapped, 5 * MIB, 77);
    paint(on_stack, sizeof(on_stack), 78);
    rebase();
    for (unsigned i = 0; i < 60; i++)
        check(is_painted(heap[i], sizes[i % 6], i));
    check(is_painted(mapped, 5 * MIB, 77));
    check(is_painted(on_stack, sizeof(on_stack), 78));
    return 0;
}

IN_CHILD(what_is_written_afterwards_stays_in_its_process)
{
    uint8_t *memory = map(2 * MIB), *heap = malloc(100000);
    int status;

    child_need(heap);
    paint(memory, 2 * MIB, 1);
    paint(heap, 100000, 2);
    rebase();
    for (unsigned i = 0; i < 4; i++) {
        pid_t pid = fork();

        child_need(pid >= 0);
        if (pid == 0) { /* each finds the first state, not its sibling's */
            bool ok = is_painted(memory, 2 * MIB, 1) && is_painted(heap, 100000, 2);

            paint(memory, 2 * MIB, 10 + i);
            paint(heap, 100000, 20 + i);
            ok = ok && is_painted(memory, 2 * MIB, 10 + i) && is_painted(heap, 100000, 20 + i);
            _exit(ok ? 0 : 1);
        }
        child_need(waitpid(pid, &status, 0) == pid);
        check(status == 0);
    }
    check(is_painted(memory, 2 * MIB, 1));
    check(is_painted(heap, 100000, 2));
    return 0;
}

IN_CHILD(what_the_parent_writes_is_not_seen_by_a_child_that_was)
{
    uint8_t *memory = map(MIB);
    int ready[2], status;
    pid_t pid;
    char byte;

    paint(memory, MIB, 1);
    rebase();
    child_need(pipe2(ready, O_CLOEXEC) == 0);
    pid = fork();
    child_need(pid >= 0);
    if (pid == 0) {
        child_need(read(ready[0], &byte, 1) == 1);
        _exit(is_painted(memory, MIB, 1) ? 0 : 1);
    }
    paint(memory, MIB, 2);
    child_need(write(ready[1], "x", 1) == 1);
    child_need(waitpid(pid, &status, 0) == pid);
    check(status == 0);
    check(is_painted(memory, MIB, 2));
    return 0;
}

IN_CHILD(untouched_pages_between_touched_ones_are_zero)
{
    uint8_t *memory = map(8 * MIB);

    for (size_t page = 0; page < 8 * MIB / PAGE; page += 1 + page % 41)
        memory[page * PAGE] = 0xee;
    rebase();
    for (size_t page = 0, next = 0; page < 8 * MIB / PAGE; page++) {
        check(memory[page * PAGE] == (page == next ? 0xee : 0));
        check(memory[page * PAGE + 1] == 0 && memory[page * PAGE + PAGE - 1] == 0);
        if (page == next)
            next += 1 + page % 41;
    }
    memset(memory, 1, 8 * MIB);
    return 0;
}

IN_CHILD(rights_stay_as_they_were)
{
    uint8_t *memory = map(4 * PAGE);
    int status;
    pid_t pid;

    paint(memory, 4 * PAGE, 5);
    child_need(mprotect(memory, 2 * PAGE, PROT_READ) == 0);
    rebase();
    check(is_painted(memory, 4 * PAGE, 5));
    memory[2 * PAGE] = 1;
    pid = fork();
    child_need(pid >= 0);
    if (pid == 0) {
        *(volatile uint8_t *)memory = 1;
        _exit(0);
    }
    child_need(waitpid(pid, &status, 0) == pid);
    check(WIFSIGNALED(status));
    return 0;
}

static bool ends_whoever_reads(const uint8_t *page)
{
    int status;
    pid_t pid = fork();

    child_need(pid >= 0);
    if (pid == 0) {
        (void)*(const volatile uint8_t *)page;
        _exit(0);
    }
    child_need(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status);
}

/* At either end, in the middle, side by side, and a mapping that has nothing else. */
IN_CHILD(guard_pages_stay_and_all_around_them_is_as_it_was)
{
    static const bool is_guard[] = {1, 0, 0, 1, 1, 0, 1, 0, 0, 1};
    uint8_t *memory = map(ARRAY_SIZE(is_guard) * PAGE), *alone = map(2 * PAGE);

    paint(memory, ARRAY_SIZE(is_guard) * PAGE, 9);
    for (size_t i = 0; i < ARRAY_SIZE(is_guard); i++)
        if (is_guard[i] && madvise(memory + i * PAGE, PAGE, MADV_GUARD_INSTALL) < 0)
            return 0; /* before Linux 6.13 there are none */
    child_need(madvise(alone, 2 * PAGE, MADV_GUARD_INSTALL) == 0);
    rebase();
    for (size_t i = 0; i < ARRAY_SIZE(is_guard); i++)
        if (is_guard[i])
            check(ends_whoever_reads(memory + i * PAGE));
        else
            for (size_t at = i * PAGE; at < (i + 1) * PAGE; at++)
                check(memory[at] == byte_of(9, at));
    check(ends_whoever_reads(alone) && ends_whoever_reads(alone + PAGE));
    return 0;
}

IN_CHILD(shared_memory_stays_shared)
{
    uint8_t *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;

    child_need(memory != MAP_FAILED);
    memory[0] = 1;
    rebase();
    pid = fork();
    child_need(pid >= 0);
    if (pid == 0) {
        memory[0] = 2;
        _exit(0);
    }
    child_need(waitpid(pid, NULL, 0) == pid);
    check(memory[0] == 2);
    return 0;
}

/* Large blocks are mappings of their own, which realloc(3) moves with mremap(2). */
IN_CHILD(large_blocks_grow_shrink_and_go)
{
    uint8_t *block = malloc(4 * MIB);

    child_need(block);
    paint(block, 4 * MIB, 3);
    rebase();
    block = realloc(block, 24 * MIB);
    check(block && is_painted(block, 4 * MIB, 3));
    paint(block, 24 * MIB, 4);
    block = realloc(block, 2 * MIB);
    check(block && is_painted(block, 2 * MIB, 4));
    free(block);
    return 0;
}

IN_CHILD(cleared_memory_is_clear)
{
    uint8_t *blocks[64];

    for (size_t i = 0; i < 64; i++) {
        child_need((blocks[i] = malloc(1000 + i * 3000)));
        memset(blocks[i], 0xff, 1000 + i * 3000);
    }
    for (size_t i = 0; i < 64; i += 2)
        free(blocks[i]);
    rebase();
    for (size_t i = 1; i < 64; i += 2)
        free(blocks[i]);
    for (size_t i = 0; i < 64; i++) {
        size_t len = 1000 + i * 3000;

        child_need((blocks[i] = calloc(1, len)));
        for (size_t at = 0; at < len; at++)
            check(blocks[i][at] == 0);
        memset(blocks[i], 0xff, len);
    }
    return 0;
}

/* A heap in motion before and after: every block keeps what was put into it. */
IN_CHILD(a_busy_heap_stays_sound)
{
    static struct {
        uint8_t *data;
        size_t len;
        unsigned seed;
    } blocks[500];
    unsigned random = 12345;

    for (unsigned step = 0; step < 40000; step++) {
        size_t i = (random = random * 1103515245 + 12345) / 65536 % 500;
        size_t len = (random = random * 1103515245 + 12345) / 65536 % 6000 + 1;

        if (step == 20000)
            rebase();
        if (blocks[i].data)
            check(is_painted(blocks[i].data, blocks[i].len, blocks[i].seed));
        if (step % 3 == 0) {
            free(blocks[i].data);
            blocks[i].data = malloc(len);
        } else {
            blocks[i].data = realloc(blocks[i].data, len);
        }
        child_need(blocks[i].data);
        blocks[i].len = len;
        blocks[i].seed = step;
        paint(blocks[i].data, len, step);
    }
    return 0;
}

IN_CHILD(libraries_still_work)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double);
    char text[64];

    child_need(library);
    root = (double (*)(double))dlsym(library, "sqrt");
    child_need(root);
    rebase();
    check(root(81) == 9);
    check(snprintf(text, sizeof(text), "%.3f %s", 1.5, "x") == 7);
    check(dlopen("libm.so.6", RTLD_NOW) == library);
    check(setenv("A_NAME", "value", 1) == 0 && strcmp(getenv("A_NAME"), "value") == 0);
    return 0;
}

/* Of the mapping with the address. */
static struct mapping mapping_at(const void *address)
{
    struct mapping m;
    char *text;

    child_need(maps_read(&text, NULL) == 0);
    while (maps_next(&text, &m))
        if ((uintptr_t)address >= m.start && (uintptr_t)address < m.end)
            return m;
    child_need(false);
    return m;
}

static _Thread_local int of_the_thread = 7;

/* The address space has something else there, or nothing is moved under the address checker. */
#define NO_ROOM 77

static int move_beside_the_thread(const void *unused __attribute__((unused)))
{
    uintptr_t block = mapping_at((const void *)pthread_self()).start;
    uint8_t *memory;

    maps_done();
    memory = mmap((void *)(block - MIB), MIB, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

#if defined(__SANITIZE_ADDRESS__)
    return NO_ROOM;
#endif
    if (memory != (void *)(block - MIB))
        return NO_ROOM;
    rebase_prepare();
    paint(memory, MIB, 9);
    of_the_thread = 8;
    rebase();
    check(is_painted(memory, MIB, 9));
    check(!mapping_at(memory).is_anonymous);
    check(mapping_at((const void *)pthread_self()).is_anonymous);
    check(of_the_thread == 8 && (errno = 5) == 5);
    return 0;
}

TEST(memory_beside_the_thread_is_moved_too)
{
    int r = in_child(move_beside_the_thread, NULL);

    if (r == NO_ROOM) {
        print_message("# skipped: no room beside the thread's block\n");
        skip();
    }
    assert_int_equal(r, 0);
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A file's memory that may be executed, at the start of a large page; `used` pages of it are there.
 */
static uint8_t *map_code(size_t len, size_t used)
{
    int file = memfd_create("belljar-test-code", MFD_CLOEXEC);
    uint8_t *room = mmap(NULL, len + 2 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *code = room + (2 * MIB - (uintptr_t)room % (2 * MIB)) % (2 * MIB), *writer = map(len);

    paint(writer, len, 5);
    child_need(file >= 0 && room != MAP_FAILED && write(file, writer, len) == (ssize_t)len);
    child_need(mmap(code, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) == code);
    (void)munmap(writer, len);
    (void)close(file);
    (void)madvise(code, len, MADV_RANDOM); /* a fault is one page */
    for (size_t i = 0; i < used; i++)
        child_need(code[i * PAGE] == byte_of(5, i * PAGE));
    return code;
}

static bool is_in_base(const uint8_t *at)
{
    struct mapping m;
    char *text;

    child_need(maps_read(&text, NULL) == 0);
    while (maps_next(&text, &m))
        if ((uintptr_t)at >= m.start && (uintptr_t)at < m.end)
            return strstr(m.name, "belljar-base") && (m.prot & PROT_EXEC);
    return false;
}

static int put_code_into_large_pages(const void *unused __attribute__((unused)))
{
    uint8_t *code = map_code(5 * MIB, 0), *touched = map_code(4 * MIB, 200);

    rebase_prepare();
    rebase();
    check(is_in_base(touched) && is_in_base(touched + 2 * MIB - 1));
    check(!is_in_base(touched + 2 * MIB) && !is_in_base(code));
    check(is_painted(touched, 4 * MIB, 5) && is_painted(code, 5 * MIB, 5));
    return 0;
}

TEST(code_that_is_used_lies_in_large_pages)
{
#if defined(__SANITIZE_ADDRESS__)
    print_message("# skipped: with the address checker nothing is moved\n");
    skip();
#endif
    assert_int_equal(in_child(put_code_into_large_pages, NULL), 0);
}

/* Children would share it with us and with each other. */
IN_CHILD(no_memory_stays_shared)
{
    FILE *file;
    char line[4096], rights[5];

    rebase();
    file = fopen("/proc/self/maps", "re");
    child_need(file);
    while (fgets(line, sizeof(line), file))
        check(sscanf(line, "%*s %4s", rights) != 1 || strcmp(rights, "rw-s") != 0);
    (void)fclose(file);
    return 0;
}

IN_CHILD(no_descriptor_stays_open)
{
    size_t before = open_descriptors();

    rebase();
    check(open_descriptors() == before);
    return 0;
}

IN_CHILD(it_can_be_done_twice)
{
    uint8_t *memory = map(MIB);

    paint(memory, MIB, 1);
    rebase();
    paint(memory, MIB / 2, 2);
    rebase();
    check(is_painted(memory, MIB / 2, 2));
    check(memory[MIB - 1] == byte_of(1, MIB - 1));
    return 0;
}

UNIT_MAIN()
