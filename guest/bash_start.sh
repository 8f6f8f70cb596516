# What the Bash kernel of a session reads first, behind a line with the numbers of its messages: __belljar_wire. It is an interactive
# shell: only those come back to their next command after an interrupt. Its own standard error leads nowhere, since readline echoes
# there; cells have the real one, 61. What Belljar is told goes to 62.
exec 10<&- 59</dev/null
set +m +H +o history
unset HISTFILE MAILCHECK
PS1='' PS2=''

# The head of a message: its type, the length of what follows.
__belljar_head() {
    builtin printf -v __belljar_bytes 'BJ\\x%02x\\x%02x\\x%02x\\x%02x\\x%02x\\0' \
        "${__belljar_wire[0]}" "$1" "$(($2 & 255))" "$(($2 >> 8 & 255))" "$(($2 >> 16))"
}

__belljar_head "${__belljar_wire[1]}" 0
__belljar_started=$__belljar_bytes
__belljar_head "${__belljar_wire[2]}" 4
__belljar_ended=$__belljar_bytes

# Before a prompt: how the last cell ended, if there was one since the last prompt. An interrupt that comes too late brings
# another. A standard output that was closed is opened again; without descriptors of ours no cell can run, and the shell ends.
__belljar_done() {
    builtin local status=$? byte
    [[ -e /dev/fd/1 ]] || exec >&60
    [[ -e /dev/fd/59 && -e /dev/fd/60 && -e /dev/fd/61 ]] || builtin exit 125
    if [[ $__belljar_runs ]]; then
        builtin printf -v byte '\\x%02x' "$status"
        builtin printf "$__belljar_ended$byte\0\0\0" >&62
    fi
    __belljar_runs=
}
PROMPT_COMMAND=__belljar_done

# Everything a copy needs to go on as this shell, as commands for it: first what decides how the rest is read, at the end what would
# disturb it. It is run in a subshell, and all names but ours are the program's. Special variables refuse to be set, which does no harm.
__belljar_state() {
    builtin shopt -p
    builtin printf '__belljar_options() {\n'
    builtin set +o
    builtin printf '}\nbuiltin cd -- %q\nbuiltin unset -v $(builtin compgen -e)\n' "$PWD"
    builtin declare -p
    builtin printf 'builtin set --'
    (($#)) && builtin printf ' %q' "$@"
    builtin printf '\nRANDOM=$SRANDOM\n'
    builtin umask -p
    builtin declare -f
    builtin printf 'builtin alias declare="builtin declare"\n' # there may be a function of that name by now
    builtin declare -F
    builtin printf 'builtin unalias declare\n'
    builtin alias -p
    builtin trap -p
    builtin printf '__belljar_options; builtin unset -f __belljar_options\n'
    builtin set +f
    builtin shopt -u nullglob failglob
    for __belljar_fd in /proc/self/fd/*; do
        case ${__belljar_fd##*/} in
        [012] | 59 | 6[0-3] | 255) ;;
        *) [[ -e $__belljar_fd ]] && builtin printf '#files' && builtin return ;;
        esac
    done
    builtin printf '#end'
}

# Says it, with a letter in front: `a` all of it, `f` but open files are not in it, `l` it is lost.
__belljar_save() {
    builtin unset -v __belljar_code __belljar_input __belljar_fd
    __belljar_text=$(__belljar_state "$@")
    builtin local LC_ALL=C
    case $__belljar_text in
    *$'\n'#end) __belljar_text=a$__belljar_text ;;
    *$'\n'#files) __belljar_text=f$__belljar_text ;;
    *) __belljar_text=l ;;
    esac
    [[ $LC_ALL == C && ${#__belljar_text} -le ${__belljar_wire[4]} ]] || __belljar_text=l
    __belljar_head "${__belljar_wire[3]}" "${#__belljar_text}"
    builtin printf "$__belljar_bytes" >&62
    builtin printf %s "$__belljar_text" >&62
    builtin unset -v __belljar_text
}

readonly PROMPT_COMMAND __belljar_wire __belljar_started __belljar_ended
readonly -f __belljar_head __belljar_done __belljar_state __belljar_save
