/* Parsing: a text of anybody's through a grammar of others. */
#include "library/code/tree.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "library/code/tree_internal.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_CHECKER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_CHECKER 1
#endif
#ifdef HAS_CHECKER
#include <sanitizer/common_interface_defs.h>
#endif

/* The parser frees its own stack, which is as long as the text is deeply nested, by a function that
 * calls itself: about a hundred bytes for each token. Only the pages that are touched are ever
 * there. */
#define STACK_BYTES          ((size_t)1 << 20)
#define STACK_BYTES_PER_BYTE ((size_t)256)
#define GUARD_BYTES          ((size_t)64 << 10)

/* CPU time of the thread: half a second, and two for each MiB; ten times what code takes. */
#define PARSE_NS          500000000ll
#define PARSE_NS_PER_BYTE 2000ll

struct parse_job {
    const struct tree_language *language;
    const char *text;
    uint32_t len;
    void (*use)(TSNode root, void *arg);
    void *arg;
    const char *why;
    int64_t deadline_ns;
    ucontext_t caller, own;
    void *stack;
    size_t stack_bytes;
};

static _Thread_local struct parse_job *current;

/* The kernel's own clock: that of a run with a seed stands still. */
static int64_t cpu_ns(void)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_late(TSParseState *state)
{
    const struct parse_job *job = state->payload;

    return cpu_ns() > job->deadline_ns;
}

static const char *give_text(void *payload, uint32_t at, TSPoint place, uint32_t *ret_len)
{
    const struct parse_job *job = payload;

    (void)place;
    *ret_len = at < job->len ? job->len - at : 0;
    return *ret_len ? job->text + at : "";
}

static void parse(struct parse_job *job)
{
    const struct tree_grammar *grammar = &tree_grammars[job->language->id];
    TSInput input = {.payload = job, .read = give_text, .encoding = TSInputEncodingUTF8};
    TSParseOptions options = {.payload = job, .progress_callback = is_late};
    TSParser *parser = ts_parser_new();
    TSTree *tree = NULL;

    if (!ts_parser_set_language(parser, grammar->language())) {
        job->why = "its grammar is not for this parser";
    } else {
        job->deadline_ns = cpu_ns() + PARSE_NS + PARSE_NS_PER_BYTE * (int64_t)job->len;
        tree = ts_parser_parse_with_options(parser, NULL, input, options);
        if (tree)
            job->use(ts_tree_root_node(tree), job->arg);
        else
            job->why = "it takes too long to parse";
    }
    ts_tree_delete(tree);
    ts_parser_delete(parser);
}

static void run_job(void)
{
#ifdef HAS_CHECKER
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
#endif
    parse(current);
#ifdef HAS_CHECKER
    __sanitizer_start_switch_fiber(NULL, bottom, size);
#endif
}

static void switch_to(struct parse_job *job)
{
    struct parse_job *before = current;
#ifdef HAS_CHECKER
    void *fake;

    __sanitizer_start_switch_fiber(&fake, job->stack, job->stack_bytes);
#endif
    current = job;
    (void)swapcontext(&job->caller, &job->own);
    current = before;
#ifdef HAS_CHECKER
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

const char *tree_parse(const struct tree_language *language, const char *text, size_t len,
                       void (*use)(TSNode root, void *arg), void *arg)
{
    struct parse_job job = {
        .language = language, .text = text, .len = (uint32_t)len, .use = use, .arg = arg};

    if (len > TREE_SIZE_MAX)
        return "it is larger than 2 MiB";
    job.stack_bytes = STACK_BYTES + STACK_BYTES_PER_BYTE * len;
    job.stack = mmap(NULL, job.stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (job.stack == MAP_FAILED)
        return "there is no memory for the parser's stack";
    /* A large page would be cleared for each small file. */
    (void)madvise(job.stack, job.stack_bytes, MADV_NOHUGEPAGE);
    (void)mprotect(job.stack, GUARD_BYTES, PROT_NONE);
    (void)getcontext(&job.own);
    job.own.uc_stack.ss_sp = job.stack;
    job.own.uc_stack.ss_size = job.stack_bytes;
    job.own.uc_link = &job.caller;
    makecontext(&job.own, run_job, 0);
    switch_to(&job);
    (void)munmap(job.stack, job.stack_bytes);
    return job.why;
}

bool tree_is_there(const struct tree_language *language)
{
    return tree_grammars[language->id].language != NULL;
}
