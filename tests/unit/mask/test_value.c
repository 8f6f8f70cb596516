/* The end of a value, according to its language. The text after the value is shown, and nothing of
 * the secret is. The secrets are put together here, so that no file holds one: `@` stands for one
 * of them. */
#include <stdio.h>

#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mask/feed.h"

#define SECRET "k9Zx81Qm"
#define LABEL  "[REDACTED_SECRET]"

static void put(char *to, size_t size, const char *text, const char *with)
{
    size_t n = 0;

    for (; *text; text++)
        if (*text == '@')
            n += (size_t)snprintf(to + n, size - n, "%s", with);
        else
            n += (size_t)snprintf(to + n, size - n, "%c", *text);
}

/* Whole, cut in two everywhere, and byte by byte. */
static void check(const char *text, const char *expected)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut <= len; cut++) {
        buf_clear(&out);
        (void)feed_bytes(text, cut);
        (void)feed_bytes(text + cut, len - cut);
        assert_string_equal(finish(), expected);
    }
    buf_clear(&out);
    for (size_t at = 0; at < len; at++)
        (void)feed_bytes(text + at, 1);
    assert_string_equal(finish(), expected);
}

/* `@` becomes the secret in the text, and the label in what is expected. */
static void check_all(const char *const *cases, size_t count)
{
    char text[1024], expected[1024];

    begin(NULL);
    for (size_t i = 0; i < count; i++) {
        put(text, sizeof(text), cases[i], SECRET);
        put(expected, sizeof(expected), cases[i], LABEL);
        check(text, expected);
    }
}

TEST(strings_of_python_and_json)
{
    static const char *const cases[] = {
        "password='@';__import__(\"os\").system(\"touch\\x20x\")#'\n",
        "password = \"@\"; run()\n",
        "password=r'@';run()\n",
        "password=b\"@\";run()\n",
        "password='''@''';run()\n",
        "password=\"\"\"@\"\"\";run()\n",
        "{\"password\": \"@\", \"run\": \"it\"}\n",
        "{\"a\": \"{\\\"password\\\": \\\"@\\\", \\\"run\\\": 1}\"}\n",
        "'{\\\\\\\"password\\\\\\\": \\\\\\\"@\\\\\\\", \\\\\\\"run\\\\\\\": 1}'\n",
        "f(password='@', run=True)\n",
        "f(password=\"@\")(run)\n",
        "password=f\"@{__import__('os').system('x')}\"\n",
        "password=`@${run()}`\n",
        "password=\"@#{run()}\"\n",
    };

    check_all(cases, ARRAY_SIZE(cases));
}

/* An even number of backslashes before a quote is none that escapes it. */
TEST(backslashes_come_in_pairs)
{
    begin(NULL);
    check("password='" SECRET "\\\\';run()#'\n", "password='" LABEL "';run()#'\n");
    check("password='" SECRET "\\\\\\\\';run()#'\n", "password='" LABEL "';run()#'\n");
    check("password=\"" SECRET "\\\\\";run()#\"\n", "password=\"" LABEL "\";run()#\"\n");
    check("password=\"" SECRET "\\\\\\\"" SECRET "\";run()\n", "password=\"" LABEL "\";run()\n");
    check("password=\"" SECRET "\\\"" SECRET "\";run()\n", "password=\"" LABEL "\";run()\n");
    check("password='''" SECRET "'" SECRET "''';run()\n", "password='''" LABEL "''';run()\n");
    /* a string in a string: the inner backslash is written as two */
    check("\"{\\\"password\\\": \\\"" SECRET "\\\\\\\"" SECRET "\\\", \\\"a\\\": 1}\"\n",
          "\"{\\\"password\\\": \\\"" LABEL "\\\", \\\"a\\\": 1}\"\n");
}

/* The line shows that it is code: a command has arguments or an expansion, or stands where only
 * commands do. */
TEST(words_of_a_shell)
{
    static const char *const cases[] = {
        "API_TOKEN=@;{touch,x}\n",
        "API_TOKEN=@&touch x\n",
        "API_TOKEN=@|touch x\n",
        "API_TOKEN=@||touch x\n",
        "API_TOKEN=@&&touch x\n",
        "API_TOKEN=@;rm -rf /\n",
        "API_TOKEN=@;./x y\n",
        "API_TOKEN=@;\\touch x\n",
        "API_TOKEN=@;'touch' x\n",
        "API_TOKEN=@>file cat x\n",
        "API_TOKEN=@;touch${IFS}x;y\n",
        "API_TOKEN=@;touch$IFS\n",
        "API_TOKEN=@$(touch x)\n",
        "API_TOKEN=@`touch x`\n",
        "API_TOKEN=@;python3 -c x\n",
        "API_TOKEN=@;run()\n",
        "API_TOKEN=@\ntouch x\n",
        "(API_TOKEN=@)\n",
        "sh -c 'API_TOKEN=@;touch x'\n",
        "export API_TOKEN=@;touch\n",
        "export API_TOKEN=@|sh\n",
        "sudo API_TOKEN=@>file\n",
        "$ API_TOKEN=@;touch\n",
        "cd x && API_TOKEN=@;touch\n",
        "API_TOKEN=\"@$(touch x)\"\n",
        "API_TOKEN=\"@${x:-`touch`}\"\n",
        "API_TOKEN=\"@`touch x`\"\n",
        "API_TOKEN='@\\';touch x;echo '\n",
        "API_TOKEN='@\\';touch${IFS}x;'\n",
        "API_TOKEN=\"@\";touch x\n",
        "tool --password @;touch\n",
        "tool --password=@&&touch\n",
        "curl -u ann:@|sh\n",
    };

    check_all(cases, ARRAY_SIZE(cases));
}

/* With blanks around it, an operator ends every value. */
TEST(operators_between_blanks)
{
    static const char *const cases[] = {
        "password=@; rm -rf x\n",      "password=@ ; rm -rf x\n",  "password=@ && rm -rf x\n",
        "password: @ | sh\n",          "DB_PASSWORD=@ || touch\n", "log password=@; touch\n",
        "tool --token @ | sh\n",       "password=@ > file\n",      "password=@ `touch`\n",
        "curl -u ann:@ h | sh -c x\n", "password=@ $(touch x)\n",  "password -> @; touch x\n",
        "{password: @}; touch x\n",    "f(password=@); touch x\n",
    };

    check_all(cases, ARRAY_SIZE(cases));
}

/* In doubt the value goes on to the next blank. In what is expected, @ and ^ stand for labels. */
TEST(in_doubt_nothing_of_a_value_comes_out)
{
    static const char *const cases[][2] = {
        {"password: ab|cd;ef\n", "password: @\n"},
        {"PASSWORD=ab;cd|ef\n", "PASSWORD=@\n"},
        {"PASSWORD=ab;cd|ef # note\n", "PASSWORD=@ # note\n"},
        {"PASSWORD=hunter2;touch\n", "PASSWORD=@\n"},
        {"password=ab`cd`ef\n", "password=@\n"},
        {"password = ab<cd>ef\n", "password = @\n"},
        {"password: ab\"cd'ef\n", "password: @\n"},
        {"password: \"ab&cd # no end\n", "password: \"ab&cd # no end\n"},
        {"password: \"k9Zx81 # no end\n", "password: \"@ # no end\n"},
        {"x login password=ab;touch for ann\n", "x login password=@ for ann\n"},
        {"x login password=ab;touch user=ann\n", "x login password=@ user=ann\n"},
        {"<password>a&amp;b;c</password>\n", "<password>@</password>\n"},
        {"<password><![CDATA[a<b&c]]></password>\n", "<password><![CDATA[a<b&c]]></password>\n"},
        {"<password><![CDATA[ab<cd&]]></password>\n", "<password><![CDATA[@]]></password>\n"},
        {"password=&quot;ab&amp;cd&quot; x\n", "password=&quot;@&quot; x\n"},
        {"h?password=a;b|cde&page=2\n", "h?password=@&page=2\n"},
        {"h?password=ab(cde)f#part\n", "h?password=@#part\n"},
        {"{\"password\": \"ab`cd`$(;)\", \"n\": 1}\n", "{\"password\": \"@\", \"n\": 1}\n"},
        {"{'password': 'it\\'s;ls -l', 'n': 1}\n", "{'password': 'it\\'s;ls -l', 'n': 1}\n"},
        {"{'password': 'it\\'s;ls', 'n': 1}\n", "{'password': '@', 'n': 1}\n"},
        {"x-api-key: ab;cd|ef12\n", "x-api-key: ^\n"},
        {"a=b;Password=ab;cd|ef;Max Size=3\n", "a=b;Password=@;Max Size=3\n"},
        {"note password=k9Zx81Qm,ann@h.test,more\n", "note password=@\n"},
        {"DB_PASSWORD=k9Zx81Qm;k9Zx81Qm\n", "DB_PASSWORD=@\n"},
        {"password='k9Zx81Qm\\';k9Zx81Qm'\n", "password='@'\n"},
        {"password=\"k9Zx81Qm${x1}k9Zx81Qm\"\n", "password=\"@${x1}@\"\n"},
    };
    char expected[256];

    begin(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t n = 0;

        for (const char *at = cases[i][1]; *at; at++)
            n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%s",
                                  *at == '@'   ? LABEL
                                  : *at == '^' ? "[REDACTED_API_KEY]"
                                               : (char[]){*at, 0});
        check(cases[i][0], expected);
    }
    check("postgres://ann:p|a;ss@h\n", "postgres://ann:[REDACTED_DATABASE_URL]@h\n");
    check("https://ann:p|a;ss@h/\n", "https://ann:[REDACTED_PASSWORD]@h/\n");
}

TEST(lists_and_urls_and_headers)
{
    static const char *const cases[] = {
        "password: @\nrun: it\n",     "password = @ ; comment\n",
        "[db]\npassword=@\nhost=h\n", "https://h/p?token=@&run=it#part\n",
        "https://h/p?token=@#part\n", "<password>@</password><run/>\n",
    };
    char text[256], expected[256];

    begin(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        /* only the first is the secret */
        char copy[256];
        char *at;

        (void)snprintf(copy, sizeof(copy), "%s", cases[i]);
        at = strchr(copy, '@');
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - copy), copy, SECRET, at + 1);
        (void)snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(at - copy), copy, LABEL,
                       at + 1);
        check(text, expected);
    }
    check("curl -H \"Authorization: OAuth " SECRET "\"; touch x\n",
          "curl -H \"Authorization: OAuth [REDACTED_AUTHORIZATION]\"; touch x\n");
    check("curl -H 'Authorization: Digest username=\"u\", response=\"" SECRET "\"'; touch x\n",
          "curl -H 'Authorization: Digest [REDACTED_AUTHORIZATION]'; touch x\n");
    check("echo Bearer " SECRET SECRET SECRET "|sh\n", "echo Bearer [REDACTED_AUTHORIZATION]|sh\n");
    check("Authorization: Bearer 12|" SECRET SECRET "\n",
          "Authorization: Bearer [REDACTED_AUTHORIZATION]\n");
    check("got Bearer 12|" SECRET SECRET " x\n", "got Bearer [REDACTED_AUTHORIZATION] x\n");
    check("Authorization: Bearer ab;" SECRET "|cd\n",
          "Authorization: Bearer [REDACTED_AUTHORIZATION]\n");
    check("Set-Cookie: sid=ab|cd(ef; Path=/\n", "Set-Cookie: sid=[REDACTED_COOKIE]; Path=/\n");
    check("Authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host;date, "
          "Signature=" SECRET "\nrun\n",
          "Authorization: AWS4-HMAC-SHA256 [REDACTED_AUTHORIZATION]\nrun\n");
}

/* Each line by itself, and all that have no blank behind one that is secret. */
TEST(values_that_are_far_from_their_name)
{
    static const char *const cases[] = {
        "{\"password\": [\"@\"], \"n\": 1}\n",
        "{\"password\": {\"type\": 1, \"value\": \"@\"}}\n",
        "variable \"password\" {\n  default = \"@\"\n}\n",
        "const password string = \"@\"\n",
        "public string Password { get; set; } = \"@\";\n",
        "password: Some(\"@\"),\n",
        "password: SecretStr = Field(default='@')\n",
        "process.env.PASSWORD || '@';\n",
        "password <- '@'\n",
        "<key>password</key>\n<string>@</string>\n",
        "<entry key=\"password\">@</entry>\n",
        "<ns:password type=\"text\">@</ns:password>\n",
        "&lt;add key=&quot;password&quot; value=&quot;@&quot;/&gt;\n",
        "**password:** @\n",
        "password ....... @\n",
        ">>> password\n'@'\n",
        "use @ as the password\n",
        "docker login -u ann --password-stdin <<< @\n",
    };

    check_all(cases, ARRAY_SIZE(cases));
}

TEST(blanks_behind_a_name_are_not_waited_for)
{
    begin(NULL);
    assert_string_equal(feed("the password for \t\t\t\t\t\t x\n"),
                        "the password for \t\t\t\t\t\t x\n");
    assert_string_equal(feed("go on\n"), "go on\n");
}

TEST(values_of_several_lines)
{
    static const char *const cases[] = {
        "password = \"\"\"@\n@\n\"\"\"\nrun12345()\n",
        "password = '''\n@\n  @ '''; run()\nfalcon77\n",
        "password: |\n  @\n  @\nuser: ann77777\n",
        "db:\n  token: >-\n    @\n    two words\n\n    @\n  host: localhost1\n",
        "  - secret: |2\n      @\n  - name: abcdefgh1\n",
        "PASSWORD='@\n@\n' run it\n",
        "PASSWORD=\"\n@\n\"\nnext1234\n",
        "PASSWORD=\"@\nthis is prose\n\"\nnext1234\n",
        "Enter password: >\nfalcon77\n",
        "TLS_KEY=\"-----BEGIN CERTIFICATE-----\nMIIEabcd12345678\n-----END CERTIFICATE-----\"\n",
    };

    check_all(cases, ARRAY_SIZE(cases));
    check("password: |\n  " SECRET "\n  ab==\nuser: ann\n",
          "password: |\n  " LABEL "\n  " LABEL "\nuser: ann\n");
    check("PASSWORD='k9Zx\n81Qm99\n' run\n", "PASSWORD='" LABEL "\n" LABEL "\n' run\n");
    check("{\"private_key\": \"k9Zx\\n81Qm\\nab\", \"n\": 1}\n",
          "{\"private_key\": \"" LABEL "\", \"n\": 1}\n");
    check("TLS_KEY=\"-----BEGIN PRIVATE KEY-----\nMIIEabcd12345678MIIEabcd12345678\n"
          "-----END PRIVATE KEY-----\"\nnext\n",
          "TLS_KEY=\"[REDACTED_PRIVATE_KEY]\"\nnext\n");
}

/* The name of a field before, a flag, and the value itself, which may still become the word
 * `value`. */
TEST(what_may_be_the_next_field_waits)
{
    begin(NULL);
    check("xkey=-pass xxx=xdx\n", "xkey=-pass " LABEL "\n");
    check("xkey=-pass xxx=xdx", "xkey=-pass " LABEL);
    check("key=-pass token=xdx981 x\n", "key=-pass " LABEL " x\n");
    check("tool --token password=xdx981 x\n", "tool --token " LABEL " x\n");
    check("tool --token=password=xdx981 x\n", "tool --token=" LABEL " x\n");
    check("key=-pass valuexdx1\n", "key=-pass " LABEL "\n");
    check("name: TOKEN\n  value: " SECRET "22\n", "name: TOKEN\n  value: " LABEL "\n");
}

/* One that is too long to wait for. */
TEST(a_long_value_ends_at_an_operator)
{
    begin(NULL);
    (void)feed("API_TOKEN=");
    for (int i = 0; i < 4096; i++)
        (void)feed(SECRET);
    (void)feed(";touch${IFS}x\n");
    assert_string_equal(finish(), "API_TOKEN=" LABEL ";touch${IFS}x\n");
}

TEST(code_is_no_value)
{
    static const char *const texts[] = {
        "password=getpass()\n",
        "password = os.environ[\"PASSWORD\"]\n",
        "token=self.token\n",
        "password=$(cat file)\n",
        "print(\"password = \");\nrun();\nprint(\"x\");\n",
        "passwd = getpass.getpass(\"Enter it for %s at %s: \" %\n",
        "password=${PASSWORD}\n",
        "if (password == other_password) { run(); }\n",
        "struct EarlyPass : PassInfoMixin<EarlyPass> {\n",
        "token = next(t for t in tokens\n",
        "REL_TOKEN = 0x000D,\n",
        "def visit(n: ast.Pass) -> PassStmt:\n",
        "Pass :meth:`peek` a value\n",
    };

    begin(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        check(texts[i], texts[i]);
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
