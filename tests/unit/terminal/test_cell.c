#include "unit.h"

#include "base/cleanup.h"
#include "terminal/cell.h"

static void assert_all(enum run_language language, bool expected, const char *const *texts,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cell_is_complete(language, texts[i]) != expected)
            fail_msg("%s: «%s»", expected ? "not complete" : "complete", texts[i]);
}

TEST(python_that_is_complete)
{
    static const char *const texts[] = {
        "",
        "1 + 1",
        "x = [1, 2]",
        "print('a:')",
        "x = {1: 2}",
        "if x: y = 1",
        "x = '''a\nb'''",
        "x = (1,\n2)",
        "a = 1 + \\\n2",
        "for i in x:\n    print(i)\n",
        "for i in x:\n    print(i)\n  ",
        "def f():\n    return 1\n\n",
        "@decorator\ndef f():\n    pass\n",
        "# a comment:",
        "!ls (",
        "!echo 'it",
        "%time f(x):",
        "x = 1\n!ls [",
        "%%bash\nls\n",
        "%%bash\nif x\n  ",
        "x = 1 # (",
        "x = \"it's # fine ((\"",
        "x[1:2]",
        "lambda: 0",
        "s = 'a\\'b'",
        /* mistakes are the language's to tell */
        "x = 'open",
        "x = 1)",
        "else",
        "f(x))\n",
    };

    assert_all(RUN_PYTHON, true, texts, ARRAY_SIZE(texts));
}

TEST(python_that_goes_on)
{
    static const char *const texts[] = {
        "if x:",
        "for i in x:  # all of them",
        "for i in x:\n    print(i)",
        "def f():\n    # nothing yet",
        "def f():\n    x = '''\n\n",
        "class A:\n    def f(self):",
        "x = [",
        "x = (1,\n2",
        "f(a,\n\n",
        "x = {'a': 1,",
        "'''",
        "\"\"\"a\nb",
        "s = '''it's\n",
        "a = 1 + \\",
        "@decorator",
        "if (a and\n    b):",
        "try:\n    x()\nexcept E:\n    pass",
    };

    assert_all(RUN_PYTHON, false, texts, ARRAY_SIZE(texts));
}

TEST(bash_that_is_complete)
{
    static const char *const texts[] = {
        "",
        "ls -l",
        "echo 'a b' \"c d\"",
        "if true; then echo 1; fi",
        "for i in 1 2; do\n echo $i\ndone",
        "while read -r x; do echo $x; done < f",
        "case $x in a) echo 1;; (b) echo 2;; esac",
        "case $x in\n  a|b)\n    if true; then x; fi\n    ;;\nesac",
        "f() { echo 1; }",
        "f()\n{\n echo 1\n}",
        "cat <<EOF\nif then (\nEOF",
        "cat <<-'E' | wc\n\tx\n\tE\n",
        "echo $(ls | wc)",
        "echo \"$(echo \"a b\" | cat)\"",
        "x=${y:-\"a b\"}",
        "echo ${#x} # a comment (",
        "sleep 1 &",
        "a=(1 2)",
        "a=()",
        "echo if then do {",
        "cat <<< 'x'",
        "echo a\\\nb",
        "(cd /tmp && ls)",
        "echo \"it's\"",
        "x=$((1 + 2))",
        "a && b",
        "a |\nb",
        "echo done; fi",
        "echo )",
    };

    assert_all(RUN_BASH, true, texts, ARRAY_SIZE(texts));
}

TEST(bash_that_goes_on)
{
    static const char *const texts[] = {
        "if true; then",
        "if true",
        "for i in 1 2; do",
        "for i in 1 2; do\n echo $i",
        "while :",
        "until x; do if y; then z; fi",
        "case $x in",
        "case $x in a) echo 1;;",
        "f() {",
        "f()",
        "f()\n",
        "echo 'a",
        "echo \"a\n",
        "echo \"$(ls",
        "echo $(ls",
        "echo ${x",
        "echo `ls",
        "cat <<EOF",
        "cat <<EOF\nx\n",
        "cat <<A <<B\nx\nA\n",
        "echo a |",
        "echo a &&",
        "echo a ||\n",
        "echo a \\",
        "(cd /tmp",
        "{ echo 1",
        "a=(1\n2",
    };

    assert_all(RUN_BASH, false, texts, ARRAY_SIZE(texts));
}

/* Every beginning of every kind of text is looked at, also those that end in the middle. */
TEST(no_beginning_is_read_beyond_its_end)
{
    static const char text[] =
        "\\'\"`$(${x}){[('''\"\"\"\n@#<<-E <<< ;;&& || |\\\n{ if for case f() \1";

    for (size_t from = 0; from < sizeof(text); from++)
        for (size_t len = 0; from + len < sizeof(text); len++) {
            cleanup_free char *part = strndup(text + from, len);

            assert_non_null(part);
            (void)cell_is_complete(RUN_PYTHON, part);
            (void)cell_is_complete(RUN_BASH, part);
        }
}

TEST(deep_nesting_has_an_end)
{
    char text[4096];

    memset(text, '(', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(cell_is_complete(RUN_PYTHON, text));
    assert_false(cell_is_complete(RUN_BASH, text));
}

UNIT_MAIN()
