/* Settings of the address checker for builds that have it. The zygote and the listener do not get
 * the caller's environment, where the checker would look for them.
 */
const char *__asan_default_options(void);

/* Signals of programs stay what they are: a run that ends by SIGSEGV must be seen to. Leaks: the
 * interpreter is never taken down, and a look for them would need ptrace(2). */
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:detect_"
           "leaks=0:"
           "allocator_may_return_null=1:exitcode=99:verify_asan_link_order=0";
}
