#include "sandbox/caps.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>

#include "child.h"

/* Capabilities to drop: root has them, others get them in a user namespace of their own. */
static void get_privileges(void)
{
    if (geteuid() != 0)
        child_need(unshare(CLONE_NEWUSER) == 0);
}

static int has_any(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    child_need(syscall(SYS_capget, &header, data) == 0);
    return data[0].effective || data[0].permitted || data[0].inheritable || data[1].effective ||
           data[1].permitted || data[1].inheritable;
}

static int bounding_count(void)
{
    int count = 0;

    for (unsigned long cap = 0; cap < 64; cap++)
        count += prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
    return count;
}

static int drop_and_look(const void *user)
{
    int had;

    (void)user;
    get_privileges();
    had = has_any() && bounding_count() > 30;
    child_need(caps_drop_all(NULL) == 0);
    return had && !has_any() && bounding_count() == 0 ? 0 : 1;
}

TEST(drop_all_empties_every_set)
{
    assert_int_equal(in_child(drop_and_look, NULL), 0);
}

static int drop_twice(const void *user)
{
    (void)user;
    get_privileges();
    child_need(caps_drop_all(NULL) == 0);
    return caps_drop_all(NULL) == 0 ? 0 : 1;
}

TEST(drop_all_can_be_called_again)
{
    assert_int_equal(in_child(drop_twice, NULL), 0);
}

static int look_at_securebits(const void *user)
{
    int bits;

    (void)user;
    get_privileges();
    child_need(caps_drop_all(NULL) == 0);
    bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    return (bits & SECURE_ALL_LOCKS) == SECURE_ALL_LOCKS && (bits & SECBIT_NOROOT) &&
                   (bits & SECBIT_NO_CAP_AMBIENT_RAISE) && !(bits & SECBIT_KEEP_CAPS)
               ? 0
               : 1;
}

TEST(drop_all_locks_the_securebits)
{
    assert_int_equal(in_child(look_at_securebits, NULL), 0);
}

/* Uid 0 that executes a program gets everything back, unless the bounding set and SECBIT_NOROOT
 * stand against it. */
static int exec_after_drop(const void *user)
{
    (void)user;
    get_privileges();
    child_need(caps_drop_all(NULL) == 0);
    execl("/bin/sh", "sh", "-c", "grep -q '^CapPrm:.0000000000000000$' /proc/self/status", NULL);
    return CHILD_BROKEN;
}

TEST(a_new_program_gets_nothing_back)
{
    assert_int_equal(in_child(exec_after_drop, NULL), 0);
}

static int drop_without_the_right_to(const void *user)
{
    struct error err = {0};

    (void)user;
    become_nobody();
    if (caps_drop_all(&err) == 0 || err.code != E_SYSTEM || err.errnum != EPERM)
        return 1;
    return strstr(err.message, "bounding set") ? 0 : 2;
}

TEST(drop_all_fails_when_the_bounding_set_stays)
{
    assert_int_equal(in_child(drop_without_the_right_to, NULL), 0);
}

static int drop_with_capset_broken(const void *user)
{
    struct error err = {0};

    (void)user;
    get_privileges();
    deny_call(SYS_capset, ENOMEM);
    if (caps_drop_all(&err) == 0)
        return 1;
    return strstr(err.message, "capabilities") && err.errnum == ENOMEM ? 0 : 2;
}

TEST(drop_all_reports_a_failing_capset)
{
    assert_int_equal(in_child(drop_with_capset_broken, NULL), 0);
}

static int drop_with_prctl_broken(const void *user)
{
    get_privileges();
    deny_call(SYS_prctl, *(const unsigned *)user);
    return caps_drop_all(NULL) < 0 && caps_no_new_privs(NULL) < 0 ? 0 : 1;
}

TEST(every_step_fails_closed)
{
    /* EINVAL is what ends the list of capabilities: it must not end it before it began. */
    static const unsigned errors[] = {EPERM, EINVAL, ENOSYS};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_int_equal(in_child(drop_with_prctl_broken, &errors[i]), 0);
}

static int set_no_new_privs(const void *user)
{
    (void)user;
    child_need(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
    child_need(caps_no_new_privs(NULL) == 0);
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

TEST(no_new_privs_is_set)
{
    assert_int_equal(in_child(set_no_new_privs, NULL), 0);
}

UNIT_MAIN()
