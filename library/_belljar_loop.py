"""The event loop of programs that await at their top level (guest/cell_loop.h). asyncio is imported when it is needed."""

import sys

runner = None


def loop():
    """Ours, made if there is none, or if the program has closed it."""
    global runner
    import asyncio

    if runner is None or runner.get_loop().is_closed():
        runner = asyncio.Runner()
    return runner.get_loop()


def run(coroutine):
    loop()
    return runner.run(coroutine)


def offer():
    """Lets asyncio find our loop where none is running: in code of a cell that awaits nothing. asyncio.run() works as ever."""
    import asyncio
    import threading

    events, policy = asyncio.events, asyncio.get_event_loop_policy()
    real_running, real_current = asyncio.get_running_loop, policy.get_event_loop

    def is_free():
        return events._get_running_loop() is None and threading.current_thread() is threading.main_thread()

    def get_running_loop():
        return loop() if is_free() else real_running()

    def get_event_loop():
        own = getattr(getattr(policy, "_local", None), "_loop", None)  # the program has made one
        return loop() if is_free() and (own is None or own.is_closed()) else real_current()

    asyncio.get_running_loop = events.get_running_loop = get_running_loop
    policy.get_event_loop = get_event_loop
    if hasattr(events, "_get_event_loop"):
        events._get_event_loop = lambda stacklevel=3: loop() if is_free() else real_running()


def wait(fd):
    """Tasks and callbacks go on until there is something to read."""
    if runner is None or runner.get_loop().is_closed():
        return
    ours, stopped = runner.get_loop(), []

    def stop():
        stopped.append(True)
        ours.stop()

    ours.add_reader(fd, stop)
    try:
        while not stopped:
            try:
                ours.run_forever()
            except (KeyboardInterrupt, SystemExit):  # of a task: it has ended that one
                pass
    finally:
        ours.remove_reader(fd)


def close():
    global runner
    if runner is not None:
        runner.close()
    runner = None


def close_idle():
    """Before a copy of the session is made: a loop without tasks is made anew."""
    import asyncio

    if runner is not None and not asyncio.all_tasks(runner.get_loop()):
        close()
