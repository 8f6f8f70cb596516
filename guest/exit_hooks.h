/* Runs Python's exit functions: before a process ends, Python waits for threads and calls the
 * functions that modules have registered.
 *
 * Modules of a data stack leave some, and calling those where they have nothing to do costs a short
 * program more than its own work. So the zygote notes which there are and how much lies before
 * them; a program that has added nothing need not wait for them.
 */
#pragma once

/* In the zygote, before anything is imported. 0, or -1 with an exception. */
int exit_hooks_listen(void);

/* In the zygote, when everything is. Without these two, everything is called at the end. */
void exit_hooks_prepare(void);

/* At the end of a program. No exception is left. */
void exit_hooks_run(void);

/* After that: lets go of what the program has in __main__. Files that it did not close are written
 * out, and `__del__` methods run, as at the end of python3. What the zygote has imported is not
 * looked at. No exception is left. */
void exit_hooks_release(void);
