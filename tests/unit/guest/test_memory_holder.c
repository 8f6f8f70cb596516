/* The process that shares a program's memory, in a real warm sandbox: it must not be able to do
 * more than the program, since who can write to its memory can make it do anything. */
#include "unit.h"

#include "engine/scene.h"

/* A warm zygote with one sandbox in stock; the run is under the filter of profiles without
 * processes. Without a data stack only a sandbox whose pages were touched (`hot`) has a holder. */
static void run_confined(size_t hot, const char *code, const char *expected)
{
    struct run *run;
    struct scene s;

    scene_begin(&s, (struct pool_options){.size = 1, .hot = hot, .environment.warm = true});
    scene_wait(&s, scene_stock_is_full);
    run = scene_prepare(&s, code);
    run->terms.may_spawn = false;
    pool_submit(s.pool, run);
    scene_wait(&s, scene_all_done);
    scene_assert_ran(&s.tickets[0], expected);
    scene_finish(&s);
}

/* The beginning of both programs. Pid 1 has memory of its own. */
#define OTHERS                                                                                     \
    "import os\n"                                                                                  \
    "others = [int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, "          \
    "os.getpid())]\n"

TEST(who_shares_the_programs_memory_has_as_many_filters)
{
    run_confined(
        1,
        OTHERS
        "def read(pid):\n"
        "    with open(f'/proc/{pid}/status') as file:\n"
        "        return dict(line.split(':', 1) for line in file)\n"
        "own = read('self')\n"
        "for pid in others:\n"
        "    other = read(pid)\n"
        "    print('memory', other['VmExe'] == own['VmExe'], 'seccomp', other['Seccomp'].strip(),\n"
        "          'enough', int(other['Seccomp_filters']) >= int(own['Seccomp_filters']) >= 2,\n"
        "          'blocks', f\"{int(other['SigBlk'], 16) & 0x7fffffff:x}\")\n",
        "memory True seccomp 2 enough True blocks 7ffbfeff\n");
}

TEST(a_small_sandbox_that_was_not_touched_has_none)
{
    run_confined(0, OTHERS "print(others)\n", "[]\n");
}

#ifdef __x86_64__
/* The program cannot execute anything, so it writes over the instruction in which the holder waits,
 * and wakes it with signals that cannot be blocked: an interrupted call begins again at its
 * `syscall`, which is now a jump to code of the program's that executes bash. */
static const char takeover[] = OTHERS
    "import ctypes, signal, struct, time\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "libc.mmap.restype = ctypes.c_void_p\n"
    "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]\n"
    "libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
    "try:\n"
    "    os.fork()\n"
    "    print('could fork')\n"
    "except PermissionError:\n"
    "    print('cannot fork')\n"
    "holder, = others\n"
    "function = ctypes.cast(libc.syscall, ctypes.c_void_p).value\n"
    "syscall = function + ctypes.string_at(function, 64).index(b'\\x0f\\x05')\n"
    "m = libc.mmap(None, 8192, 7, 0x22, -1, 0)\n"
    "for at, text in ((1024, b'/bin/bash\\0'), (1100, b'-c\\0'), (1200, b'echo > "
    "/workspace/out\\0'),\n"
    "                 (2048, struct.pack('<4Q', m + 1024, m + 1100, m + 1200, 0)),\n"
    "                 (0, b'\\x48\\xbf' + struct.pack('<Q', m + 1024) +  # rdi: path\n"
    "                     b'\\x48\\xbe' + struct.pack('<Q', m + 2048) +  # rsi: argv\n"
    "                     b'\\x31\\xd2\\xb8\\x3b\\0\\0\\0\\x0f\\x05'       # execve(rdi, rsi, "
    "NULL)\n"
    "                     b'\\x0f\\x0b')):                            # ud2, if it fails\n"
    "    ctypes.memmove(m + at, text, len(text))\n"
    "if libc.mprotect(syscall & ~4095, 8192, 7) != 0:\n"
    "    print('not writable')\n"
    "jump = b'\\x48\\xb8' + struct.pack('<Q', m) + b'\\xff\\xe0'\n"
    "ctypes.memmove(syscall, jump, len(jump))\n"
    "os.kill(holder, signal.SIGSTOP)\n"
    "def state():\n"
    "    try:\n"
    "        with open(f'/proc/{holder}/stat') as file:\n"
    "            return file.read().rpartition(')')[2].split()[0]\n"
    "    except (FileNotFoundError, ProcessLookupError):\n"
    "        return 'gone'\n"
    "while state() not in 'Tgone':\n"
    "    time.sleep(0.01)\n"
    "os.kill(holder, signal.SIGCONT)\n"
    "while not os.path.exists('/workspace/out') and state() not in 'Zgone':\n"
    "    time.sleep(0.01)\n"
    "print('executed' if os.path.exists('/workspace/out') else 'died')\n";

TEST(a_program_that_takes_it_over_gains_nothing)
{
    run_confined(1, takeover, "cannot fork\ndied\n");
}
#endif

int main(void)
{
    if (!getenv("BELLJAR_ZYGOTE")) {
        print_error("BELLJAR_ZYGOTE does not name the zygote\n");
        return 1;
    }
    return unit_run(NULL, NULL);
}
