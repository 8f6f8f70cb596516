#include "base/task.h"

#include <stddef.h>

#include "base/fiber.h"

static void release(struct task *task)
{
    loop_work_cancel(&task->turn);
    fiber_free(task->fiber);
    *task = (struct task){.line = task->line};
}

static void step(void *arg)
{
    struct task *task = arg;
    const struct task_steps *steps = task->steps;
    void *owner = task->arg;
    uint64_t began_ns = loop_cpu_ns();
    bool has_ended = fiber_resume(task->fiber);

    if (steps->spent)
        steps->spent(owner, loop_cpu_ns() - began_ns);
    if (!has_ended) {
        loop_line_post(task->loop, task->line, &task->turn, step, task);
        return;
    }
    release(task);
    steps->done(owner);
}

static bool prepare(struct task *task, struct loop *loop, const struct task_steps *steps, void *arg)
{
    struct fiber *fiber = fiber_new(steps->work, arg);

    *task =
        (struct task){.loop = loop, .fiber = fiber, .steps = steps, .arg = arg, .line = task->line};
    if (fiber)
        return true;
    steps->work(arg);
    steps->done(arg);
    return false;
}

void task_begin(struct task *task, struct loop *loop, const struct task_steps *steps, void *arg)
{
    if (fiber_is_running())
        task_post(task, loop, steps, arg);
    else if (prepare(task, loop, steps, arg))
        step(task);
}

void task_post(struct task *task, struct loop *loop, const struct task_steps *steps, void *arg)
{
    if (prepare(task, loop, steps, arg))
        loop_line_post(loop, task->line, &task->turn, step, task);
}

bool task_is_under_way(const struct task *task)
{
    return task->fiber != NULL;
}

bool task_is_paused(const struct task *task)
{
    return task->fiber && !fiber_is_here(task->fiber);
}

void task_cancel(struct task *task)
{
    if (task->fiber)
        fiber_cancel(task->fiber);
}

bool task_end(struct task *task)
{
    if (!task->fiber)
        return false;
    fiber_cancel(task->fiber);
    (void)fiber_resume(task->fiber); /* it does not pause any more */
    release(task);
    return true;
}
