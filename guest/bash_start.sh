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

# --- what would end the shell ends the cell ---

# Goes back to the prompt, as an interrupt does, with the status of the cell. In a subshell: ends that.
__belljar_leave() {
    __belljar_status=$1
    builtin trap - INT
    builtin kill -INT "$BASHPID"
}

exit() {
    builtin local status=$?
    [[ $BASHPID == "$$" ]] || builtin exit "${1-$status}"
    status=${1-$status}
    case ${status#-} in
    '' | *[!0-9]*)
        builtin printf 'bash: exit: %s: numeric argument required\n' "$1" >&2
        __belljar_leave 2
        ;;
    *) __belljar_leave "$((status & 255))" ;;
    esac
}

# `set -e`: what Bash does before it would end. Subshells end by themselves.
__belljar_fail() {
    [[ $- == *e* && $BASHPID == "$$" ]] && __belljar_leave "$1"
    builtin return 0
}

# A program's trap on errors comes before ours, and sees the status of the failure in `$?`. It begins on the first line, which is that
# of the failure for it, and may end with a comment. In it `set -e` is off: it would end the shell.
__belljar_keep() {
    __belljar_error=$? __belljar_exits=
    [[ $- != *e* ]] || { builtin set +e && __belljar_exits=1; }
    builtin return "$__belljar_error"
}

__belljar_trapped() {
    [[ ! $__belljar_exits ]] || builtin set -e
    __belljar_fail "$__belljar_error"
}

trap() {
    builtin local action="${1-}" signal text head='if __belljar_keep; then :; else ' tail=$'\nfi; __belljar_trapped'
    if [[ ($# -eq 0 || $1 == -p) && $BASHPID == "$$" ]]; then
        text=$(\builtin trap "$@") || builtin return
        text=${text:+$text$'\n'}
        text=${text/"trap -- '__belljar_fail \$?' ERR"$'\n'/}
        text=${text/"trap -- '$head"/"trap -- '"}
        builtin printf %s "${text/"$tail' ERR"/"' ERR"}"
        builtin return 0
    fi
    if [[ $# -lt 2 || $BASHPID != "$$" || $1 == -[lp] ]]; then
        builtin trap "$@"
        builtin return
    fi
    builtin shift
    if [[ $action == -- ]]; then
        action=$1
        builtin shift
    fi
    for signal; do
        case $signal in
        ERR | err)
            if [[ $action == - || ! $action ]]; then
                builtin trap '__belljar_fail $?' ERR
            else
                builtin trap "$head$action$tail" ERR
            fi
            ;;
        *) builtin trap -- "$action" "$signal" || builtin return ;;
        esac
    done
}

# Soft limits: the next cell has those of before.
ulimit() {
    builtin local letter
    if [[ $BASHPID == "$$" && -z ${__belljar_limits[*]-} ]]; then
        for letter in c d e f i l m n q r s t u v x; do
            __belljar_limits+=("-$letter" "$(\builtin ulimit -S "-$letter" 2>/dev/null)")
        done
    fi
    if [[ $BASHPID == "$$" && " $* " != *" -"*H* ]]; then
        builtin ulimit -S "$@"
    else
        builtin ulimit "$@"
    fi
}

# --- what somebody types ---

# Asks for a line, which is in __belljar_line then. A call is numbered at random: replies to calls that were interrupted are left over.
__belljar_ask() {
    builtin local LC_ALL=C id=$SRANDOM reply
    __belljar_head "${__belljar_wire[5]}" 28
    builtin printf -v reply '\\x%02x\\x%02x\\x%02x\\x%02x' "$((id & 255))" "$((id >> 8 & 255))" "$((id >> 16 & 255))" "$((id >> 24 & 255))"
    builtin printf "$__belljar_bytes$reply\\0\\0\\0\\0\\x0a\\0\\0\\0input.line\\x02\\0\\0\\0{}" >&62
    until [[ ${reply%% *} == "$id" ]]; do
        builtin read -r -d '' -u 58 reply || builtin return 1
    done
    [[ $reply == *' 1 "'*'"' ]] || builtin return 1
    reply=${reply#*'"'}
    reply=${reply%'"'}
    builtin printf -v __belljar_line %b "${reply//'\"'/'\x22'}"
    __belljar_line=${__belljar_line%$'\n'}
}

# `read` where the input is the empty one of the cell. Only the shell itself may ask: what it has started can outlive the cell.
__belljar_read() {
    builtin local __belljar_at __belljar_letter __belljar_word __belljar_value __belljar_prompt= __belljar_from=0 __belljar_line
    for ((__belljar_at = 1; __belljar_at <= $#; __belljar_at++)); do
        __belljar_word=${!__belljar_at}
        [[ $__belljar_word == -?* && $__belljar_word != -- ]] || builtin break
        for ((__belljar_letter = 1; __belljar_letter < ${#__belljar_word}; __belljar_letter++)); do
            [[ ${__belljar_word:__belljar_letter:1} == [adinNptu] ]] || builtin continue
            __belljar_value=${__belljar_word:__belljar_letter+1}
            [[ $__belljar_value ]] || { ((++__belljar_at <= $#)) && __belljar_value=${!__belljar_at}; }
            case ${__belljar_word:__belljar_letter:1} in
            p) __belljar_prompt=$__belljar_value ;;
            u) __belljar_from=$__belljar_value ;;
            esac
            builtin break
        done
    done
    if [[ $__belljar_from != 0 || $BASHPID != "$$" || ! /dev/fd/0 -ef /dev/fd/59 ]]; then
        builtin read "$@"
        builtin return
    fi
    builtin printf %s "$__belljar_prompt" >&2
    if __belljar_ask; then
        builtin read "$@" <<<"$__belljar_line"
    else
        builtin read "$@" </dev/null
    fi
}

# --- cells ---

# `exec COMMAND` would replace the shell: such a cell is run in a subshell. With `set -u`, an interactive shell gives up the
# command with an unset variable and goes on with the next: as one command, the whole cell ends there.
__belljar_begin() {
    builtin local unset='(^|[^[:alnum:]_])set[[:blank:]]+([^;&|#]*[[:blank:]])?(-[[:alpha:]]*u|-o[[:blank:]]+nounset)'
    builtin local word=$'(^|[\n;&|({])[[:blank:]]*((then|do|else)[[:blank:]]+)?exec[[:blank:]]+(-[acl]+[[:blank:]]+)*[^-<>&0-9{[:space:];#]'
    __belljar_status= __belljar_limits=() __belljar_typed=${1-}
    [[ ! $__belljar_typed ]] || builtin declare -F read >/dev/null || read() {
        if [[ $__belljar_typed ]]; then __belljar_read "$@"; else builtin read "$@"; fi
    }
    builtin trap '__belljar_fail $?' ERR
    if [[ $__belljar_code =~ $word ]]; then
        builtin printf 'belljar: this cell has `exec COMMAND`, so it runs in a subshell; what it sets is not kept\n' >&61
        __belljar_code="( $__belljar_code"$'\n)'
    fi
    # One command is read as a whole, before the `shopt` in it has run.
    [[ $__belljar_code == *extglob* ]] || [[ $- != *u* && ! $__belljar_code =~ $unset ]] || __belljar_code="{ :; $__belljar_code"$'\n}'
    builtin set -E
}

# What a cell leaves for its end, which sees the status of the cell, and what must not reach the next one.
__belljar_finish() {
    builtin local trapped letter status=$1
    builtin set +e +E +u +o pipefail
    trapped=$(\builtin trap -p EXIT)
    if [[ $trapped && $trapped != 'trap -- - EXIT' ]]; then
        builtin trap - EXIT
        builtin eval "trapped=(${trapped#trap --})"
        (builtin exit "$status")
        builtin eval "${trapped[0]}" 2>&61 <&59
    fi
    builtin trap - INT ERR
    for ((letter = 0; letter < ${#__belljar_limits[@]}; letter += 2)); do
        builtin ulimit -S "${__belljar_limits[letter]}" "${__belljar_limits[letter + 1]}" 2>/dev/null
    done
    if [[ ! /dev/fd/1 -ef /dev/fd/60 ]]; then
        exec >&60
        builtin printf 'belljar: this cell redirected its standard output for good; the next cell has it back\n' >&61
    fi
}

# The end of a cell; with the working directory, if it is a plain one and not that of the start.
__belljar_tell() {
    builtin local LC_ALL=C plain='^/[A-Za-z0-9/._+@-]{0,999}$' size
    if [[ $LC_ALL == C && ! . -ef $__belljar_start && ${PWD-} =~ $plain ]]; then
        builtin printf -v size '\\x%02x\\x%02x\\0\\0' "$((${#PWD} & 255))" "$((${#PWD} >> 8))"
        __belljar_head "${__belljar_wire[2]}" "$((8 + ${#PWD}))"
        builtin printf "$__belljar_bytes$1\0\0\0$size$PWD" >&62
    else
        builtin printf "$__belljar_ended$1\0\0\0" >&62
    fi
}

# Before a prompt: how the last cell ended, if there was one since the last prompt. An interrupt that comes too late brings
# another. A standard output that was closed is opened again; without descriptors of ours no cell can run, and the shell ends.
__belljar_done() {
    builtin local status=$? byte
    [[ -e /dev/fd/1 ]] || exec >&60
    [[ $__belljar_runs ]] && status=${__belljar_status:-$status} && __belljar_finish "$status"
    [[ -e /dev/fd/59 && -e /dev/fd/60 && -e /dev/fd/61 ]] || builtin exit 125
    if [[ $__belljar_runs ]]; then
        builtin printf -v byte '\\x%02x' "$status"
        __belljar_tell "$byte"
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
        [012] | 5[89] | 6[0-3] | 255) ;;
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

# Where only python3 is installed, its short name means it, too.
builtin type python >/dev/null 2>&1 || ! builtin type -P python3 >/dev/null || python() { command python3 "$@"; }

__belljar_start=$PWD
readonly PROMPT_COMMAND __belljar_wire __belljar_started __belljar_ended __belljar_start
readonly -f __belljar_head __belljar_tell __belljar_done __belljar_state __belljar_save __belljar_leave __belljar_fail __belljar_keep __belljar_trapped __belljar_ask __belljar_read __belljar_begin __belljar_finish
