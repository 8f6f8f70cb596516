#!/usr/bin/python3
"""gen-completion.py BELLJAR SHELL: completion for bash, zsh or fish, on standard output.

Commands, actions, options and their values are read from the program's own --help, so a file is never out of date.
Names (of profiles, sessions, environments, skills, states and runs) are asked of the program while one types. Those come
from programs and agents: only letters, digits, `.`, `_`, `-` and `@` get through, and nothing of them is ever evaluated.
"""
import re
import subprocess
import sys
from typing import NamedTuple

LANGUAGES = "python bash javascript typescript"
COMPAT = "marketplace cms coderunner"

# The question for each kind of name; the output is JSON with a line for each key, but for the profiles.
KINDS = {
    "environments": ("environment list --json", "name"),
    "runs": ("ps --json", "id"),
    "sessions": ("session list --json", "name"),
    "skills": ("skills list --json", "name"),
    "states": ("state list --json", "name"),
    "tokens": ("token list --json", "name"),
}
NAME = "[A-Za-z0-9][A-Za-z0-9._@-]*"

OPTION = re.compile(
    r"^  (?P<names>-[\w-]+(?:, --[\w-]+)*)(?: +(?P<value>[A-Z]+[A-Z.=…,:|\[\]a-z]*|[a-z]+(?:\|[a-z]+)+)(?= ))?(?P<gap> +)(?P<text>\S.*)$"
)


class Option(NamedTuple):
    names: list
    value: str  # "" without one
    text: str
    kind: str  # what completes the value


class Command(NamedTuple):
    name: str
    text: str
    actions: list
    options: list
    arguments: dict  # of an action, or of "": what completes the first of them, and the later ones


NOT_BUILT = 69  # what a command says whose program was left out, as that of `cluster` is without libnats


def help_of(program, *words):
    """The help text of a command, or None if it was not built."""
    done = subprocess.run([program, *words, "--help=all" if words else "--help"], capture_output=True, text=True, timeout=60)
    if done.returncode == NOT_BUILT:
        return None
    done.check_returncode()
    return done.stdout


def kind_of(command, names, value):
    """Names what completes the value of an option."""
    for kind in ("profiles", "environments", "sessions"):
        if f"--{kind[:-1]}" in names and command != "audit":
            return kind
    if "--compat" in names:
        return f"words:{COMPAT}"
    if "--isolation" in names:
        return "words:namespaces process"
    if value == "LANGUAGE":
        return f"words:{LANGUAGES}"
    if re.fullmatch(r"[a-z|]+", value):
        return "words:" + value.replace("|", " ")
    if value.startswith("DIR"):
        return "dirs"
    return "files" if re.match(r"FILE|PATH", value) else "none"


def options_of(command, text):
    found = []
    for line in text.splitlines():
        match = OPTION.match(line)
        if match:
            names, value = match["names"].split(", "), match["value"] or ""
            found.append(Option(names, value, match["text"].strip(), kind_of(command, names, value)))
    return [*found, Option(["--help"], "", "show the help", "none")]


def arguments_of(command, rest):
    """Names what completes the first word behind an action, and the later ones, by what the usage line says about them."""
    later = "files" if re.search(r"FILE|FOLDER|PATH|DIR", rest) else "none"
    plural = command if command.endswith("s") else command + "s"
    if command in ("logs", "stop"):
        return "runs", "runs"
    if re.match(r"\[?NAME", rest) and plural in KINDS:
        return plural, plural if rest.startswith("NAME…") else later
    return later, later


def usage_of(command, text):
    """The actions and what completes their arguments."""
    actions, arguments = [], {}
    usage = re.findall(rf"^(?:usage:|      ) belljar {command} (.*)$", text, re.MULTILINE)
    for line in usage:
        for part in re.split(r" ?\| ?", line):
            word, _, rest = part.partition(" ")
            if re.fullmatch(r"[a-z][a-z-]*", word):
                actions.append(word)
                arguments[word] = rest
        # "diff|apply|discard NAME" says it once for the three.
        group = re.match(r"((?:[a-z]+\|)+[a-z]+) ((?:[A-Z]|\[).*)$", line)
        for word in group[1].split("|") if group and "|" not in group[2] else ():
            arguments[word] = group[2]
    for line in re.findall(r"^  ([a-z-]+) +\S", text.partition("clients:\n")[2].partition("\n\n")[0], re.MULTILINE):
        actions.append(line)
    kinds = {word: arguments_of(command, rest) for word, rest in arguments.items()}
    kinds[""] = arguments_of(command, "" if actions else usage[0])
    return actions, kinds


def read(program):
    listed = re.findall(r"^  ([a-z]+) +(\S.*)$", help_of(program).partition("commands:")[2].partition("example:")[0], re.MULTILINE)
    commands = []
    for name, text in listed:
        about = help_of(program, name)
        if about is None:
            continue
        actions, arguments = usage_of(name, about)
        commands.append(Command(name, text, actions, options_of(name, about), arguments))
    return commands


def names_script(quote_program):
    """The lines of a case statement, for bash and zsh, that print names one a line."""
    # The error about an unknown profile lists those there are.
    lines = [f"    profiles) {quote_program} run --profile '?' -c '' 2>&1 | sed -n 's/^hint: there are //p' | tr -d '`,' | tr ' ' '\\n' ;;"]
    for kind, (words, key) in sorted(KINDS.items()):
        lines.append(f"    {kind}) {quote_program} {words} | sed -n 's/^ *\"{key}\": \"\\([^\"]*\\)\",*$/\\1/p' ;;")
    return "\n".join(lines)


def all_names(options, with_value=None):
    return [name for option in options for name in option.names if with_value is None or bool(option.value) == with_value]


def case_of_values(command):
    """Lines "--a | --b) kind ;;" for the options that take a value."""
    kinds = {}
    for option in command.options:
        if option.value:
            kinds.setdefault(option.kind, []).extend(option.names)
    return [(" | ".join(names), kind) for kind, names in kinds.items()]


# --- bash ---

BASH = r"""# Completion of belljar for bash. Made by tools/gen-completion.py from the program's own help.
_belljar_names() # PROGRAM KIND
{
    case $2 in
@NAMES@
    esac 2>/dev/null </dev/null | grep -xE '@NAME@'
}

_belljar_complete() # PROGRAM KIND WORD
{
    local names
    case $2 in
    none) ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
    dirs) mapfile -t COMPREPLY < <(compgen -d -- "$3") ;;
    words:*) mapfile -t COMPREPLY < <(compgen -W "${2#words:}" -- "$3") ;;
    *)
        names=$(_belljar_names "$1" "$2")
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$3")
        ;;
    esac
}

_belljar()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-} action=${COMP_WORDS[2]-}
    local commands="@COMMANDS@" actions="" flags="" value="" first=none later=none i

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _belljar_complete "$1" "words:$commands help --help --version" "$word"
        return
    fi
    case $command in
@TABLE@
    help) actions=$commands ;;
    *) return ;;
    esac
    # After -- everything belongs to the command.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "$command" = exec ] && [ "${COMP_WORDS[i]}" = -- ]; then
            if [ $((i + 1)) -eq "$COMP_CWORD" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                _belljar_complete "$1" files "$word"
            fi
            return
        fi
    done
    if [ -n "$value" ]; then
        _belljar_complete "$1" "$value" "$word"
    elif [[ $word == -* ]]; then
        _belljar_complete "$1" "words:$flags" "$word"
    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$actions" ]; then
        _belljar_complete "$1" "words:$actions" "$word"
    elif [ "$COMP_CWORD" -le 3 ]; then
        _belljar_complete "$1" "$first" "$word"
    else
        _belljar_complete "$1" "$later" "$word"
    fi
}
complete -o filenames -F _belljar belljar
"""


def shell_table(commands, before, action):
    """Rows of the table, for bash and zsh: sets flags, actions, value, first and later."""
    lines = []
    for c in commands:
        lines.append(f"    {c.name})")
        lines.append(f'        flags="{" ".join(all_names(c.options))}"')
        if c.actions:
            lines.append(f'        actions="{" ".join(c.actions)}"')
        values = case_of_values(c)
        if values:
            lines.append(f"        case {before} in")
            lines += [f'        {names}) value="{kind}" ;;' for names, kind in values]
            lines.append("        esac")
        lines.append("        first={} later={}".format(*c.arguments[""]))
        kinds = {}
        for word, kind in c.arguments.items():
            if word and kind != c.arguments[""]:
                kinds.setdefault(kind, []).append(word)
        if kinds:
            lines.append(f"        case {action} in")
            lines += [f"        {' | '.join(words)}) first={kind[0]} later={kind[1]} ;;" for kind, words in kinds.items()]
            lines.append("        esac")
        lines.append("        ;;")
    return "\n".join(lines)


def bash(commands):
    return (
        BASH.replace("@NAMES@", names_script('"$1"')).replace("@NAME@", NAME)
        .replace("@COMMANDS@", " ".join(c.name for c in commands))
        .replace("@TABLE@", shell_table(commands, "$before", "$action"))
    )  # fmt: skip


# --- zsh ---

ZSH = r"""#compdef belljar
# Completion of belljar for zsh. Made by tools/gen-completion.py from the program's own help.
_belljar_names() # PROGRAM KIND
{
    case $2 in
@NAMES@
    esac 2>/dev/null </dev/null | grep -xE '@NAME@'
}

_belljar_complete() # PROGRAM KIND
{
    local -a names
    case $2 in
    none) ;;
    files) _files ;;
    dirs) _files -/ ;;
    words:*) names=(${=2#words:}) && compadd -a names ;;
    *) names=(${(f)"$(_belljar_names "$1" "$2")"}) && compadd -a names ;;
    esac
}

_belljar()
{
    local before=${words[CURRENT-1]} command=${words[2]} action=${words[3]} actions="" flags="" value="" first=none later=none
    local -a commands described

    commands=(
@COMMANDS@
    )
    if ((CURRENT == 2)); then
        _describe -t commands command commands
        return
    fi
    case $command in
@TABLE@
    help) actions="${commands%%:*}" ;;
    *) return ;;
    esac
    if [[ $command == exec && ${words[(i)--]} -lt $CURRENT ]]; then
        shift "${words[(i)--]}" words
        ((CURRENT -= ${words[(i)--]}))
        _normal
    elif [[ -n $value ]]; then
        _belljar_complete "${words[1]}" "$value"
    elif [[ ${words[CURRENT]} == -* ]]; then
        case $command in
@FLAGS@
        esac
        _describe -o -t options option described
    elif ((CURRENT == 3)) && [[ -n $actions ]]; then
        _belljar_complete "${words[1]}" "words:$actions"
    elif ((CURRENT <= 4)); then
        _belljar_complete "${words[1]}" "$first"
    else
        _belljar_complete "${words[1]}" "$later"
    fi
}
if [[ $funcstack[1] == _belljar ]]; then
    _belljar "$@"
else
    compdef _belljar belljar
fi
"""


def zsh_word(name, text):
    return "'" + name.replace(":", "\\:") + ":" + text.replace("'", "’") + "'"


def zsh(commands):
    flags = []
    for c in commands:
        words = [zsh_word(name, o.text) for o in c.options for name in o.names]
        flags.append(f"        {c.name})\n            described=(\n" + "\n".join(f"                {w}" for w in words) + "\n            )\n            ;;")
    flags.append("        help) described=() ;;")
    known = "\n".join(f"        {zsh_word(c.name, c.text)}" for c in commands) + "\n        'help:describe a command'"
    table = shell_table(commands, "$before", "$action")
    return (
        ZSH.replace("@NAMES@", names_script('"$1"')).replace("@NAME@", NAME).replace("@COMMANDS@", known)
        .replace("@TABLE@", table).replace("@FLAGS@", "\n".join(flags))
    )  # fmt: skip


# --- fish ---

FISH = r"""# Completion of belljar for fish. Made by tools/gen-completion.py from the program's own help.
function __belljar_names # KIND
    begin
        switch $argv[1]
@NAMES@
        end
    end 2>/dev/null </dev/null | string match -r '^@NAME@$'
end

# Whether the command is COMMAND and, where given, its action one of the rest.
function __belljar_in # COMMAND [ACTION]...
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"; or return 1
    test (count $argv) -eq 1; and return 0
    contains -- "$words[3]" $argv[2..-1]
end

function __belljar_at # COMMAND: its action is still to come
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test "$words[2]" = "$argv[1]"
end

complete -c belljar -f
"""


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_values(kind):
    """The options of `complete` that complete a value."""
    if kind == "files":
        return "-r -F"
    if kind == "dirs":
        return "-x -a '(__fish_complete_directories)'"
    if kind.startswith("words:"):
        return f"-x -a '{kind[len('words:') :]}'"
    return "-x" if kind == "none" else f"-x -a '(__belljar_names {kind})'"


def fish_arguments(command):
    """Names for the first word, files for the later ones where the usage says so."""
    lines, groups = [], {}
    for word, kinds in command.arguments.items():
        if bool(word) == bool(command.actions):
            for kind in set(kinds) - {"none"}:
                groups.setdefault(kind, []).append(word)
    for kind, words in sorted(groups.items()):
        how = "-F" if kind == "files" else f"-a '(__belljar_names {kind})'"
        lines.append(f"complete -c belljar -n '{' '.join(['__belljar_in', command.name, *words]).rstrip()}' {how}")
    return lines


def fish(commands):
    cases = ["            case profiles\n                belljar run --profile '?' -c '' 2>&1 | string match -r '^hint: there are .*' | string replace 'hint: there are ' '' | string split ' ' | string replace -ra '[`,]' ''"]
    for kind, (words, key) in sorted(KINDS.items()):
        cases.append(f"            case {kind}\n                belljar {words} | string replace -rf '^ *\"{key}\": \"([^\"]*)\",?$' '$1'")
    lines = [FISH.replace("@NAMES@", "\n".join(cases)).replace("@NAME@", NAME).rstrip("\n")]
    for c in commands:
        lines.append(f"complete -c belljar -n __fish_use_subcommand -a {c.name} -d {fish_quote(c.text)}")
    lines.append("complete -c belljar -n __fish_use_subcommand -a help -d 'describe a command'")
    lines.append(f"complete -c belljar -n '__belljar_at help' -a '{' '.join(c.name for c in commands)}'")
    for c in commands:
        for o in c.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in o.names)
            values = f" {fish_values(o.kind)}" if o.value else ""
            lines.append(f"complete -c belljar -n '__belljar_in {c.name}' {names}{values} -d {fish_quote(o.text)}")
        if c.actions:
            lines.append(f"complete -c belljar -n '__belljar_at {c.name}' -a '{' '.join(c.actions)}'")
        lines += fish_arguments(c)
    return "\n".join(lines) + "\n"


def main(arguments):
    shells = {"bash": bash, "fish": fish, "zsh": zsh}
    if len(arguments) != 2 or arguments[1] not in shells:
        raise SystemExit("usage: gen-completion.py BELLJAR bash|fish|zsh")
    sys.stdout.write(shells[arguments[1]](read(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
