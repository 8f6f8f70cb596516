# Completion for bash. Flags are read from the program's own --help, so they are never out of date.
_belljar()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
    local commands="run shell serve mcp session skills state undo environment token setup audit doctor mask config bench version" actions=""

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands help" -- "$word")
        return
    fi
    case $command in
    session) actions="list show rm diff apply discard" ;;
    skills) actions="add list read rm show undo versions" ;;
    state) actions="create history list rm save show" ;;
    environment) actions="create list rm show" ;;
    token) actions="add list rm" ;;
    audit) actions="list show follow export verify check-receipt key head replay" ;;
    setup) actions="claude-code claude-desktop cursor vscode gemini codex" ;;
    help) actions=$commands ;;
    esac
    if [ "$COMP_CWORD" -eq 2 ] && [ -n "$actions" ] && [[ $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$word")
        return
    fi
    case $before in
    -l | --language)
        mapfile -t COMPREPLY < <(compgen -W "python bash" -- "$word")
        return
        ;;
    --profile)
        mapfile -t COMPREPLY < <(compgen -W "strict standard open marketplace cms pyrunner devskyy" -- "$word")
        return
        ;;
    --compat)
        mapfile -t COMPREPLY < <(compgen -W "marketplace cms coderunner" -- "$word")
        return
        ;;
    --allow | --save | --workdir)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    esac
    case $word in
    -*)
        local flags
        flags=$("$1" "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        ;;
    esac
}
complete -o filenames -F _belljar belljar
