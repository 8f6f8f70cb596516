"""gen-fold.py TARGET: the characters beyond ASCII that some file system takes for ASCII ones, as an array of C.

Unicode's compatibility decomposition together with full case folding covers ext4 and f2fs with casefold, APFS, HFS+, NTFS, and ZFS with
formKC or formKD. What none of them knows but a person or a locale does is in EXTRA."""
import sys
import unicodedata

EXTRA = {
    0x0130: "i",  # I with a dot, in Turkish the capital of i
    0x0131: "i",  # i without a dot
    0xF022: ":",  # what mounts of SMB shares write for characters that Windows does not have in names
    0xF028: " ",
    0xF029: ".",
}

# Default_Ignorable_Code_Point: file systems that normalise names drop them.
IGNORED = [
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip


def fold(char):
    def nfkc(text):
        return unicodedata.normalize("NFKC", text)

    return nfkc(nfkc(char).casefold()).casefold()


def is_ignored(code):
    return any(first <= code <= last for first, last in IGNORED)


def rows():
    for code in range(0x80, 0x110000):
        if 0xD800 <= code < 0xE000 or is_ignored(code):
            continue
        text = EXTRA.get(code, fold(chr(code)))
        if text and len(text) <= 4 and text.isascii() and "/" not in text:
            yield code, text


with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write('#include "sandbox/fold_internal.h"\n\nconst struct fold_row fold_rows[] = {\n')
    for code, text in rows():
        file.write(f'    {{0x{code:04X}, "{text}"}},\n'.replace('"""', '"\\""').replace('"\\"}', '"\\\\"}'))
    file.write("};\nconst size_t fold_n_rows = sizeof(fold_rows) / sizeof(fold_rows[0]);\n")
    file.write("\nconst struct fold_range fold_ignored[] = {\n")
    for first, last in IGNORED:
        file.write(f"    {{0x{first:04X}, 0x{last:04X}}},\n")
    file.write("};\nconst size_t fold_n_ignored = sizeof(fold_ignored) / sizeof(fold_ignored[0]);\n")
