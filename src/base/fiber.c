#include "base/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/loop.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

/* A sanitizer's marks stay on a stack that was left in the middle. */
#ifdef HAS_SANITIZER
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>
#define KEEPS_STACK false
#else
#define KEEPS_STACK true
#endif

/* jansson recurses once per level of nesting, with some hundred bytes. */
#define STACK_BYTES ((size_t)512 << 10)

#define TIME_NS ((uint64_t)3000000)

struct fiber {
    ucontext_t own, caller;
    void *stack; /* with a page below it that cannot be touched */
    size_t stack_size;
    void (*fn)(void *arg);
    void *arg;
    uint64_t began_ns;
    bool has_ended;
    bool is_cancelled;
};

static struct fiber *running;

#ifdef HAS_SANITIZER
/* The C library's own. The checker's, which stands before it, prints a warning into the output of
 * every command, whatever it is told below. */
static int swap(ucontext_t *from, const ucontext_t *to)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    int (*plain)(ucontext_t *, const ucontext_t *) =
        library ? (int (*)(ucontext_t *, const ucontext_t *))dlsym(library, "swapcontext") : NULL;

    if (library)
        (void)dlclose(library);
    return plain ? plain(from, to) : swapcontext(from, to);
}
#endif

/* The sanitizer has to know which stack is in use. */
static void switch_to(ucontext_t *from, ucontext_t *to, const void *stack, size_t size)
{
#ifdef HAS_SANITIZER
    void *fake = NULL;

    __sanitizer_start_switch_fiber(&fake, stack, size);
    (void)swap(from, to);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#else
    (void)stack;
    (void)size;
    (void)swapcontext(from, to);
#endif
}

static const void *caller_stack;
static size_t caller_size;

static void begin(void)
{
    struct fiber *fiber = running;

#ifdef HAS_SANITIZER
    __sanitizer_finish_switch_fiber(NULL, &caller_stack, &caller_size);
#endif
    fiber->fn(fiber->arg);
    fiber->has_ended = true;
    switch_to(&fiber->own, &fiber->caller, caller_stack, caller_size); /* never comes back */
}

static bool prepare(ucontext_t *context, char *stack)
{
    if (getcontext(context) < 0)
        return false;
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK_BYTES;
    context->uc_link = NULL;
    makecontext(context, begin, 0);
    return true;
}

/* The stack of the last fiber that ended is kept for the next one: every answer to a run takes one,
 * and a mapping costs more than most answers do. */
static void *spare;

static void *new_stack(size_t size, size_t page)
{
    void *stack = spare;

    spare = NULL;
    if (stack)
        return stack;
    stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    if (mprotect(stack, page, PROT_NONE) < 0) {
        (void)munmap(stack, size);
        return NULL;
    }
    return stack;
}

struct fiber *fiber_new(void (*fn)(void *arg), void *arg)
{
    struct fiber *fiber = calloc(1, sizeof(*fiber));
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (!fiber)
        return NULL;
    fiber->fn = fn;
    fiber->arg = arg;
    fiber->stack_size = STACK_BYTES + page;
    fiber->stack = new_stack(fiber->stack_size, page);
    if (!fiber->stack || !prepare(&fiber->own, (char *)fiber->stack + page)) {
        fiber_free(fiber);
        return NULL;
    }
    return fiber;
}

bool fiber_resume(struct fiber *fiber)
{
    struct fiber *before = running;

    if (fiber->has_ended)
        return true;
    running = fiber;
    fiber->began_ns = loop_cpu_ns();
    switch_to(&fiber->caller, &fiber->own, fiber->own.uc_stack.ss_sp, STACK_BYTES);
    running = before;
    return fiber->has_ended;
}

void fiber_free(struct fiber *fiber)
{
    if (!fiber)
        return;
    if (fiber->stack && fiber->has_ended && !spare && KEEPS_STACK)
        spare = fiber->stack;
    else if (fiber->stack)
        (void)munmap(fiber->stack, fiber->stack_size);
    free(fiber);
}

bool fiber_is_due(void)
{
    const struct fiber *fiber = running;

    return fiber && !fiber->is_cancelled && loop_cpu_ns() - fiber->began_ns >= TIME_NS;
}

void fiber_pause(void)
{
    struct fiber *fiber = running;

    if (fiber_is_due())
        switch_to(&fiber->own, &fiber->caller, caller_stack, caller_size);
}

void fiber_cancel(struct fiber *fiber)
{
    fiber->is_cancelled = true;
}

bool fiber_is_cancelled(void)
{
    return running && running->is_cancelled;
}

bool fiber_is_running(void)
{
    return running != NULL;
}

bool fiber_is_here(const struct fiber *fiber)
{
    return running && running == fiber;
}
