/* Checksums, and how random a text looks. */
#include "base/utf8.h"
#include "mask/internal.h"

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static uint32_t crc32(const char *text, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* "ghp_", 30 characters, and their CRC-32 in six. */
static bool has_crc(const char *text, size_t len)
{
    uint32_t crc;

    if (len != 40)
        return false;
    crc = crc32(text + 4, 30);
    for (size_t i = 40; i-- > 34; crc /= 62)
        if (text[i] != base62[crc % 62])
            return false;
    return true;
}

static bool has_bech32(const char *text, size_t len)
{
    static const char alphabet[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                         0x2a1462b3};
    static const char prefix[] = "age-secret-key-";
    unsigned char values[2 * sizeof(prefix) + 64];
    size_t n = 0, plen = sizeof(prefix) - 1;
    uint32_t sum = 1;

    for (size_t i = 0; i < plen; i++)
        values[n++] = (unsigned char)prefix[i] >> 5;
    values[n++] = 0;
    for (size_t i = 0; i < plen; i++)
        values[n++] = prefix[i] & 31;
    for (size_t i = plen + 1; i < len && n < sizeof(values); i++) {
        const char *at = strchr(alphabet, text[i]);

        if (!at)
            return false;
        values[n++] = (unsigned char)(at - alphabet);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t top = sum >> 25;

        sum = (sum & 0x1ffffff) << 5 ^ values[i];
        for (int bit = 0; bit < 5; bit++)
            sum ^= top >> bit & 1 ? generator[bit] : 0;
    }
    return sum == 1;
}

bool masker_is_luhn(const char *digits, size_t len)
{
    unsigned sum = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned d = (unsigned)(digits[len - 1 - i] - '0');

        if (i % 2)
            d = d * 2 > 9 ? d * 2 - 9 : d * 2;
        sum += d;
    }
    return sum % 10 == 0;
}

/* ---- base64 ---- */

int masker_base64_value(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (masker_is_digit(c))
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

size_t masker_base64_decode(const char *text, size_t len, unsigned char *out, size_t size)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t n = 0;

    for (size_t i = 0; i < len && n < size; i++) {
        int value = masker_base64_value((unsigned char)text[i]);

        if (value < 0)
            break;
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[n++] = (unsigned char)(bits >> count);
        }
    }
    return n;
}

bool masker_is_basic(const char *text, size_t len)
{
    unsigned char plain[128];
    size_t n = masker_base64_decode(text, len, plain, sizeof(plain));

    if (n < 5 || !memchr(plain, ':', n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (plain[i] < 0x20 || plain[i] == 0x7f)
            return false;
    /* A longer one may be cut within a character. */
    return n == sizeof(plain) || utf8_valid((const char *)plain, n) == n;
}

/* ---- randomness ---- */

/* 16 * log2(n) for what a count can be; libm would have to be loaded for this alone. */
static double log2_of(double x)
{
    double result = 0, term;

    while (x >= 2) {
        x /= 2;
        result += 1;
    }
    /* ln((1+y)/(1-y)) = 2(y + y^3/3 + ...), y = (x-1)/(x+1) <= 1/3 */
    term = (x - 1) / (x + 1);
    return result + 2 * 1.4426950408889634 *
                        (term + term * term * term / 3 + term * term * term * term * term / 5 +
                         term * term * term * term * term * term * term / 7);
}

double masker_entropy(const char *text, size_t len)
{
    unsigned counts[256] = {0};
    double sum = 0;

    for (size_t i = 0; i < len; i++)
        counts[(unsigned char)text[i]]++;
    for (unsigned c = 0; c < 256; c++)
        if (counts[c])
            sum += counts[c] * log2_of(counts[c]);
    return len ? log2_of((double)len) - sum / (double)len : 0;
}

struct letters {
    size_t digits, upper, lower, other, changes, hex;
};

static struct letters count_letters(const char *text, size_t len)
{
    struct letters n = {0};
    int before = -1;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        int class = masker_is_digit(c)     ? 0
                    : c >= 'A' && c <= 'Z' ? 1
                    : c >= 'a' && c <= 'z' ? 2
                                           : 3;

        n.digits += class == 0;
        n.upper += class == 1;
        n.lower += class == 2;
        n.other += class == 3;
        n.hex += masker_is_hex(c);
        n.changes += before >= 0 && class != before;
        before = class;
    }
    return n;
}

/* How often one letter follows another in the words of English and of programs: by its row, the
 * logarithm of how much more often than by chance, and 5. */
static const char *const pairs[] = {
    "46764464625878362878554453", "64436322641633630553511141", "73547337616643842656532142",
    "64458433722543631554533131", "75786654524768464987455653", "52345621700532630544512130",
    "52337245510545531654522122", "72337221612433620435412031", "66766562324769752677351425",
    "41224110301111420131301000", "52236223512423520353412031", "73458332823743741355532162",
    "75347222613453661253521130", "73677583735435642378543243", "45664553424668660866656432",
    "73447335603633651756523150", "10111000100111002121500000", "74668453714555751676543152",
    "63648346715544663468634252", "73548437823554751766534363", "55545442513657350666221322",
    "62327121501232420232111010", "51335213501324420442101110", "32434312400231240235111220",
    "42334220301334350354322111", "41115112401211310011200022",
};

/* The sum over all pairs of letters in the text, and how many there are. */
static int rate_pairs(const char *text, size_t len, int *ret_count)
{
    int sum = 0, count = 0, before = -1;

    for (size_t i = 0; i < len; i++) {
        int c = (text[i] | 32) - 'a';

        if (c < 0 || c >= 26)
            c = -1;
        if (c >= 0 && before >= 0) {
            sum += pairs[before][c] - '5';
            count++;
        }
        before = c;
    }
    *ret_count = count;
    return sum;
}

bool masker_reads_as_words(const char *text, size_t len)
{
    int count, sum = rate_pairs(text, len, &count);

    return count >= 3 && 4 * sum > count;
}

bool masker_is_type_name(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);
    int count;

    return len >= (n.digits ? 16 : 12) && n.upper >= 2 && n.lower >= n.upper && n.digits <= 2 &&
           !n.other && 4 * rate_pairs(text, len, &count) >= 3 * count && count >= 8;
}

bool masker_is_title(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);
    size_t signs = 0;
    int count;

    for (size_t i = 0; i < len; i++)
        signs += text[i] == '-' || text[i] == '_';
    return len >= 12 && signs >= 2 && signs == n.other && !n.upper && n.digits <= 1 &&
           4 * rate_pairs(text, len, &count) >= 3 * count && count >= 8;
}

bool masker_is_drawn(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);
    int count;

    return n.upper && n.lower && rate_pairs(text, len, &count) < 0 && count >= 8;
}

bool masker_is_mixed(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);

    /* One in three hundred random tokens of this length has no digit; no word turns so often. */
    return n.changes >= 3 && n.upper + n.lower &&
           ((n.digits && !(len >= 20 && masker_is_type_name(text, len))) ||
            (n.upper && n.lower &&
             (n.changes * 3 >= len ? !masker_reads_as_words(text, len)
                                   : masker_is_drawn(text, len))));
}

bool masker_looks_random(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);
    double entropy = masker_entropy(text, len);
    /* The longest word that a text of words would not have broken. */
    double floor = n.hex == len ? 3.0 : len >= 32 ? 4.0 : 3.5;

    if (len < 16 || entropy < floor)
        return false;
    return n.changes >= len / 6 && (n.digits || n.upper > 2);
}

/* "sk-learn-contrib-something": words with hyphens between them. */
static bool is_words(const char *text, size_t len)
{
    struct letters n = count_letters(text, len);

    return !n.digits && (!n.upper || !n.lower || n.changes < len / 5);
}

/* ---- structure ---- */

static bool is_snowflake(const char *text, size_t len)
{
    unsigned char id[24];
    size_t part = 0, n;

    while (part < len && text[part] != '.')
        part++;
    n = masker_base64_decode(text, part, id, sizeof(id));
    for (size_t i = 0; i < n; i++)
        if (!masker_is_digit(id[i]))
            return false;
    return n >= 15;
}

/* Enough of the first two parts is decoded to see that they are JSON objects. */
static bool is_jwt(const char *text, size_t len)
{
    unsigned char head[256];
    const char *dot = memchr(text, '.', len);
    size_t n = dot ? masker_base64_decode(text, (size_t)(dot - text), head, sizeof(head)) : 0;

    if (n < 8 || head[0] != '{')
        return false;
    if (!memmem(head, n, "\"alg\"", 5) && !memmem(head, n, "\"typ\"", 5) &&
        !memmem(head, n, "\"enc\"", 5) && !memmem(head, n, "\"kid\"", 5))
        return false;
    return true;
}

bool masker_has_checksum(enum masker_check check, const char *text, size_t len)
{
    return check == MASKER_CRC32 ? has_crc(text, len) : has_bech32(text, len);
}

bool masker_check(enum masker_check check, const char *text, size_t len, bool is_whole_word)
{
    switch (check) {
    case MASKER_ANY:
        return true;
    case MASKER_MIXED:
        return masker_is_mixed(text, len);
    case MASKER_RANDOM:
        return masker_looks_random(text, len);
    case MASKER_NOT_WORDS:
        return !is_words(text, len);
    case MASKER_CRC32: /* one with a slip of the pen is no public value either */
        return has_crc(text, len) || (is_whole_word && !is_words(text, len));
    case MASKER_OPENAI:
        return memmem(text, len, "T3BlbkFJ", 8) ||
               (len >= 32 && masker_is_mixed(text, len) && masker_entropy(text, len) > 3.0);
    case MASKER_BECH32: /* as with CRC32: what has this prefix is nothing public */
        return has_bech32(text, len) || is_whole_word;
    case MASKER_DSN:
        return !masker_is_placeholder(text, (size_t)((const char *)memchr(text, '@', len) - text));
    case MASKER_SNOWFLAKE:
        return is_snowflake(text, len);
    case MASKER_JWT:
        return is_jwt(text, len);
    }
    return true; /* fails closed: what we cannot judge goes */
}
