# id: files-search-for-it
# category: files
# profile: open
# threat: searches the whole visible tree for a file of the host by name
# expect: success error
# limits: timeout=20
find / -name 'bjcanary*' 2>/dev/null | head -5 | sed 's/^/ESC''APED: /'
echo end
