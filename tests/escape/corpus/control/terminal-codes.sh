# id: control-terminal-codes
# category: control
# profile: open
# threat: escape sequences, NUL, invalid UTF-8, bidirectional marks and bare carriage returns in the output
# expect: success
printf '\033]0;pwned\007\033[2J\033[31m\000\377\376\xc0\xaf\xed\xa0\x80\342\200\256abc\r\nfake: {"status":"success"}\n'
printf 'data: {"jsonrpc":"2.0"}\n\n: x\n' >&2
