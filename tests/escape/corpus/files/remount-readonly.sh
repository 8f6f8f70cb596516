# id: files-remount-readonly
# category: files
# profile: open
# threat: makes a read-only tree writable or finds one that was forgotten
# expect: success error
while read -r id parent dev root where opts rest; do
    case " $where" in
    ' /tmp'*|' /workspace'*|' /dev/shm'*) continue ;;
    ' /proc'|' /dev'|' /dev/'*) ;;
    esac
    [ -d "$where" ] || continue
    if ( : > "$where/bjprobe" ) 2>/dev/null; then
        case "$where" in
        /) echo 'ESC''APED: root writable' ;;
        *) echo 'ESC''APED: writable' "$where" ;;
        esac
    fi
done < /proc/self/mountinfo
echo end
