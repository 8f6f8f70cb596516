# Removes what everyday libraries leave behind when their work is done, and a copy of the session could not
# have. Runs in a session's kernel when a copy would be refused otherwise. Only what nobody can use
# any more is taken away; what is still in use stays, and the refusal names it.


def stop_monitor(modules):
    """tqdm's thread that refreshes bars, and its lock for processes. The next bar starts another thread."""
    bar = modules["tqdm.std"].tqdm
    monitor = bar.monitor
    if monitor is not None:
        monitor.exit()
        bar.monitor = None
    writer = modules["tqdm.std"].TqdmDefaultWriteLock
    writer.mp_lock = None
    lock = bar._lock
    if isinstance(lock, writer):
        lock.locks = [part for part in lock.locks if type(part).__module__ != "multiprocessing.synchronize"]


def reap(modules, objects):
    """Children that have ended: whoever asks later gets the same exit code."""
    popen = getattr(modules.get("subprocess"), "Popen", None)
    for thing in objects if popen else []:
        if type(thing) is popen:
            thing.poll()
    children = modules.get("multiprocessing.process")
    if children:
        children._cleanup()
    forked = getattr(modules.get("multiprocessing.popen_fork"), "Popen", None)
    for thing in objects if forked else []:
        if type(thing) is forked and thing.poll() is not None:
            thing.close()  # the pipes that told of its end


def empty_pools(modules, objects):
    """Pools that were closed and whose workers have ended: their pipes and semaphores."""
    pool = modules["multiprocessing.pool"].Pool
    for thing in objects:
        if pool not in type(thing).__mro__ or thing._state not in ("CLOSE", "TERMINATE"):
            continue
        if any([worker.exitcode is None for worker in thing._pool]):
            continue
        if any([thread.is_alive() for thread in (thing._worker_handler, thing._task_handler, thing._result_handler)]):
            continue
        thing._terminate.cancel()
        thing._cache.notifier = None
        for name in ("_inqueue", "_outqueue", "_quick_put", "_quick_get", "_change_notifier"):
            if getattr(thing, name, None) is not None:
                thing.__dict__[name] = None


def stop_tracker(modules):
    """The process that removes forgotten shared memory, where there is none."""
    tracker = modules["multiprocessing.resource_tracker"]._resource_tracker
    if tracker._fd is not None and not modules["os"].listdir("/dev/shm"):
        tracker._stop()


def close_loop(modules):
    """The event loop of cells that await, if no task is left in it."""
    modules["_belljar_loop"].close_idle()


def tidy(modules, objects):
    for step, args in (
        (close_loop, (modules,)),
        (stop_monitor, (modules,)),
        (reap, (modules, objects)),
        (empty_pools, (modules, objects)),
        (stop_tracker, (modules,)),
    ):
        try:
            step(*args)
        except Exception:
            pass  # the library is not there, or has another form
