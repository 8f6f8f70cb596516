"""Settings belong to an engine, not to a file: variables that live as long as the process are listed here."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Object file and variable, with the reason why it is one for the whole process.
ALLOWED = {
    "base_base64.c table": "a table that is made once from constants",
    "api_worker.c progress_fd": "in a worker, which is a process for one task",
    "base_closer.c closer": "the helper process that closes large files",
    "base_fiber.c running": "the fiber that runs now: there is one thread",
    "base_fiber.c spare": "a stack that is kept for the next fiber",
    "base_hint.c is_tool": "asks the table of tools, which is above; set once, at the start",
    "base_id.c own_node": "the name of this process as a node, in the ids that it makes; set once, at the start",
    "base_loop.c cpu_clock": "the thread's CPU clock, as it was last read",
    "base_loop.c has_no_clock": "there is no page for it",
    "base_log.c out": "where the log of the process goes",
    "base_service.c news": "the socket of the service manager",
    "base_service.c news_len": "its length",
    "base_tls_client.c ours": "the TLS library's settings, the same for all",
    "admit_own_code.c closed": "directories of Belljar's own code: they only grow",
    "engine_box.c n_groups": "names of cgroups: engines of one process share a directory",
    "engine_box_check.c message": "scratch: filled and packed at once",
    "engine_box_run.c message": "scratch: filled and packed at once",
    "mask_masker.c has_scratch": "scratch of the scanner",
    "mask_masker.c scratch": "scratch of the scanner",
    "mask_token.c kind": "a place in a constant table, looked up once",
    "mask_token.c is_made": "a table that is made once from constants",
    "mask_token.c with_left": "a table that is made once from constants",
    "mask_token.c by_first": "a table that is made once from constants",
    "mask_words.c table": "a table that is made once from constants",
    "mask_words.c is_made": "a table that is made once from constants",
    "mcp_mcp.c empty": "an empty JSON object",
    "cli_cmd.c cmd_help_is_whole": "how much of its help this command prints: `--help=all`",
    "cli_mask.c data": "a block of the command `mask`",
    "cli_remote.c ended_by": "set by a signal handler",
    "cli_remote.c n_signals": "set by a signal handler",
    "cli_remote_keyboard.c is_resized": "set by a signal handler",
    "cli_run_input.c data": "a block of the helper of the command `run`",
    "cli_run_terminal.c columns": "a variable of the program's environment: read once",
    "cli_run_terminal.c lines": "a variable of the program's environment: read once",
    "cli_typed_line.c before": "settings of the user's terminal, of which a process has one",
    "cli_typed_line.c is_hidden": "whether that terminal shows what is typed",
    "cli_run_terminal.c settings": "of the user's terminal: signal handlers restore them",
    "sandbox_ns.c counter": "user ids take turns: zygotes of one process share a range",
    "sandbox_ns.c shared_id": "in a virtual machine all sandboxes read granted directories as one user; set once, at the start",
    "sandbox_ns.c name": "constant, but for the type of execve()",
    "sandbox_ns.c environment": "constant, but for the type of execve()",
    "sandbox_ns.c on_host": "constant, but for the type of execve()",
    "sandbox_places.c workspace": "a sandbox's own process sets it once, before the program runs",
    "sandbox_places.c tmp": "a sandbox's own process sets it once, before the program runs",
    "sandbox_places.c is_on_host": "a sandbox's own process sets it once, before the program runs",
    "sandbox_places.c data_bytes": "a sandbox's own process sets it once, before the program runs",
    "sandbox_process_place.c place": "one directory of the process that its engines share and count",
    "sandbox_protected.c tree": "a table that is made once from constants",
    "sandbox_protected_names.c rows": "a table that is made once from constants",
    "sandbox_protected_names.c count": "a table that is made once from constants",
    "sandbox_protected_own.c own": "Belljar's own places on this host: they only grow",
}


def variables(library):
    table = subprocess.run(["objdump", "-t", library], capture_output=True, text=True, check=True).stdout
    name = None
    for line in table.splitlines():
        if ": " in line and "file format" in line:
            name = line.split(":")[0].split("/")[-1].removesuffix(".o")
        elif re.search(r"\bO \.(t?bss|t?data)(\.(?!rel\.ro)\S*)?\t", line):
            yield f"{name} {line.split()[-1].split('.')[0]}"


def test_no_file_holds_settings():
    libraries = [ROOT / "build" / "src" / f"lib{name}.a" for name in ("host", "ground")]
    if not shutil.which("objdump") or not all(library.exists() for library in libraries):
        pytest.skip("needs objdump and the build directory")
    found = {v for library in libraries for v in variables(library) if not v.split()[0].endswith(".cpp")}
    assert found, "the libraries have no table of symbols"
    assert not found - set(ALLOWED), "give it to the engine, or list it with a reason"
    assert not set(ALLOWED) - found, "it is gone: take it off the list"
