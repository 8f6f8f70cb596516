/* Values in secret columns, row by row, wherever the stream is cut. */
#include "unit.h"

#include "base/cleanup.h"
#include "mask/feed.h"
#include "mask/internal.h"

#define LABEL "[REDACTED_SECRET]"

static const struct {
    const char *text, *masked;
} tables[] = {
    {"user,password\nann,hunter2\nbob,hunter3\n", "user,password\nann," LABEL "\nbob," LABEL "\n"},
    {"user\ttoken\nann\tx81kQ0zz9aB7\n", "user\ttoken\nann\t" LABEL "\n"},
    {"| user | password |\n|---|---|\n| ann | hunter2 |\n",
     "| user | password |\n|---|---|\n| ann | " LABEL " |\n"},
    {" user | password \n------+----------\n ann  | hunter2\n(1 row)\n",
     " user | password \n------+----------\n ann  | " LABEL "\n(1 row)\n"},
    {"user   password\nann    hunter2\n", "user   password\nann    " LABEL "\n"},
    {"  user password\n0  ann  hunter2\n", "  user password\n0  ann  " LABEL "\n"},
    {"region|password\neu|hunT3r2k\n", "region|password\neu|" LABEL "\n"},
    {",user,password\n0,ann,hunter2\n", ",user,password\n0,ann," LABEL "\n"},
    {"====  ========\nuser  password\n====  ========\nann   hunter2\n",
     "====  ========\nuser  password\n====  ========\nann   " LABEL "\n"},
    {"password  id  \n--------  ----\nhunter2   1234\nhunter3     56\n",
     "password  id  \n--------  ----\n" LABEL "   1234\n" LABEL "     56\n"},
    {"  user password  \\\n0  ann  hunter2   \n\n  role  \n0  dba  \n",
     "  user password  \\\n0  ann  " LABEL "   \n\n  role  \n0  dba  \n"},
    {"     user password\nhost              \ndb1   ann  hunter2\n",
     "     user password\nhost              \ndb1   ann  " LABEL "\n"},
    /* Rows that are no lines: in a string, also one in another, in HTML and in lists. */
    {"{\"out\": \"user,password\\nann,hunter2\\n\"}",
     "{\"out\": \"user,password\\nann," LABEL "\\n\"}"},
    {"\"{\\\"a\\\": \\\"user,password\\\\nann,hunter2\\\"}\"",
     "\"{\\\"a\\\": \\\"user,password\\\\nann," LABEL "\\\"}\""},
    {"'user\\tpassword\\nann\\thunter2\\n'", "'user\\tpassword\\nann\\t" LABEL "\\n'"},
    {"<table><tr><th>user</th><th>password</th></tr>\n<tr><td>ann</td><td>hunter2</td></tr></"
     "table>",
     "<table><tr><th>user</th><th>password</th></tr>\n<tr><td>ann</td><td>" LABEL
     "</td></tr></table>"},
    {"[[\"user\", \"password\"], [\"ann\", \"hunter2\"]]",
     "[[\"user\", \"password\"], [\"ann\", \"" LABEL "\"]]"},
    {"COPY t (user, password) FROM stdin;\nann\thunter2\n\\.\n",
     "COPY t (user, password) FROM stdin;\nann\t" LABEL "\n\\.\n"},
    {"> user  password\n> ann   hunter2\n", "> user  password\n> ann   " LABEL "\n"},
    {"user:password:host\nann:hunter2:db1\n", "user:password:host\nann:" LABEL ":db1\n"},
    /* Lines with numbers, text before the header, a first row that is aligned both ways. */
    {"     1\tuser,password\n     2\tann,hunter2\n",
     "     1\tuser,password\n     2\tann," LABEL "\n"},
    {"7:| user | password |\n8:|---|---|\n9:| ann | hunter2 |\n",
     "7:| user | password |\n8:|---|---|\n9:| ann | " LABEL " |\n"},
    {"<pre>password   user\nhunter2    ann\n</pre>\n",
     "<pre>password   user\n" LABEL "    ann\n</pre>\n"},
    {"user  password\ndana  hunter23\ngina  hunter4567\n",
     "user  password\ndana  " LABEL "\ngina  " LABEL "\n"},
    /* The table ends; what follows is text. */
    {"user,password\nann,hunter2\n\nsee hunter2,hunter3\n",
     "user,password\nann," LABEL "\n\nsee hunter2,hunter3\n"},
    /* Colours and invisible characters hide nothing. */
    {"user,\033[1mpass\u200bword\033[0m\nann,hun\033[1mter2\n",
     "user,\033[1mpass\u200bword\033[0m\nann," LABEL "\n"},
    /* Aligned both ways, and no table of accounts. */
    {"#define umac64_set_key  nettle_umac64_set_key\n#define umac96_set_key  "
     "nettle_umac96_set_key\n"
     "#define umac64_digest  nettle_umac64_digest\n",
     "#define umac64_set_key  nettle_umac64_set_key\n#define umac96_set_key  "
     "nettle_umac96_set_key\n"
     "#define umac64_digest  nettle_umac64_digest\n"},
    /* The columns of a schema are no header. */
    {"field,type\npassword,varchar(255)\ncreated_at,timestamp\n",
     "field,type\npassword,varchar(255)\ncreated_at,timestamp\n"},
};

static void check(const char *text, const char *masked, size_t piece)
{
    size_t len = strlen(text);

    begin(NULL);
    for (size_t at = 0; at < len; at += piece)
        (void)feed_bytes(text + at, len - at < piece ? len - at : piece);
    assert_string_equal(finish(), masked);
}

TEST(values_in_secret_columns_are_masked_however_the_stream_is_cut)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (size_t piece = 1; piece <= strlen(tables[i].text); piece++)
            check(tables[i].text, tables[i].masked, piece);
}

TEST(whole_rows_do_not_wait)
{
    begin(NULL);
    assert_string_equal(feed("user,password\n"), "user,password\n");
    assert_string_equal(feed("ann,hunter2\n"), "ann," LABEL "\n");
    /* Of a row that is not whole, what stands before the column comes out. */
    assert_string_equal(feed("bob,hun"), "bob,");
    assert_string_equal(feed("ter3\n"), LABEL "\n");
}

TEST(a_long_line_ends_the_table)
{
    begin(NULL);
    (void)feed("user,password\nann,hunter2\nbob,");
    for (int i = 0; i < 400; i++)
        (void)feed("abc def ");
    (void)feed("\ncarol,hunter3\n");
    assert_non_null(strstr(finish(), "carol,hunter3\n"));
}

/* A name of a secret in a row is no header that waits for the table to end. */
TEST(a_long_table_with_such_a_word_in_a_row_comes_out)
{
    begin(NULL);
    (void)feed("user,password\nann,token\n");
    for (int i = 0; i < 30 * 1000; i++)
        assert_string_equal(feed("benjamin,k9Zx81Qm\n"), "benjamin," LABEL "\n");
    assert_non_null(finish());
}

TEST(where_a_person_decides_columns_do_not_count)
{
    begin(&(struct masker_options){.mode = MASKER_REVIEW});
    (void)feed("user,password\nann,hunter2\n");
    assert_string_equal(finish(), "user,password\nann,hunter2\n");
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
