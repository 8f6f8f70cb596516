"""The object that get_ipython() gives."""
from IPython.core.magic import cell_magics, line_magics, register_class, register_function

HARMLESS = (
    "matplotlib unload_ext config xmode colors automagic gui pprint autosave logstart logstop "
    "clear doctest_mode"
).split()
HINT = "write it as a line of the cell"


class Events:
    def register(self, event, function):
        pass

    def unregister(self, event, function):
        pass


class Formatter:
    """Libraries register how their objects are shown, as sympy.init_printing() does. What is shown is decided elsewhere."""

    def __init__(self):
        self.enabled, self.type_printers, self.deferred_printers = True, {}, {}

    def for_type(self, kind, function=None):
        return self.type_printers.setdefault(kind, function)

    def for_type_by_name(self, module, name, function=None):
        return self.deferred_printers.setdefault((module, name), function)

    def pop(self, kind, default=None):
        return self.type_printers.pop(kind, default)


class DisplayFormatter:
    def __init__(self):
        kinds = "text/plain text/html text/markdown text/latex image/png image/jpeg image/svg+xml application/json application/javascript"
        self.formatters, self.active_types = {kind: Formatter() for kind in kinds.split()}, kinds.split()


class Names(dict):
    """The program's names, as they are now; what is set here becomes one of them."""

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        _notebook("push", {name: value})

    def update(self, *args, **kwargs):
        for name, value in dict(*args, **kwargs).items():
            self[name] = value


class ExecutionResult:
    """Result of run_cell()."""

    result = error_in_exec = error_before_exec = None

    @property
    def success(self):
        return self.error_in_exec is None

    def raise_error(self):
        if self.error_in_exec is not None:
            raise self.error_in_exec


class InteractiveShell:
    """A part of IPython's: commands, simple magics, the program's names."""

    colors = "NoColor"

    def __init__(self):
        self.events, self.config, self.parent_header = Events(), {}, {}
        self.display_formatter = DisplayFormatter()

    def system(self, command):
        _notebook("shell", command)

    system_raw = system_piped = system

    def getoutput(self, command, split=True, depth=0):
        lines = _notebook("lines", command)
        return lines if split else lines.n

    def run_line_magic(self, name, line="", _stack_depth=1):
        if name in line_magics:
            return line_magics[name](line)
        if name in HARMLESS:
            return None
        return _notebook("magic", (name, line)) if _notebook("rules") else _notebook("run_text", f"%{name} {line}")

    def magic(self, line):
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest.strip())

    def run_cell_magic(self, name, line, cell):
        if name in cell_magics:
            return cell_magics[name](line, cell)
        if name in ("bash", "sh", "!", "system", "sx"):
            return _notebook("script", cell)
        if name in ("html", "markdown", "latex", "svg", "javascript", "js"):
            import IPython.display

            kind = {"html": "HTML", "markdown": "Markdown", "latex": "Latex", "svg": "SVG"}.get(name, "Javascript")
            return IPython.display.display(getattr(IPython.display, kind)(cell))
        if not _notebook("rules"):
            return _notebook("run_text", f"%%{name} {line}\n{cell}")
        raise NotImplementedError(f"`%%{name}` cannot be called as a function in this profile; {HINT}")

    def run_cell(self, raw_cell, store_history=False, silent=False, shell_futures=True, cell_id=None):
        result = ExecutionResult()
        try:
            result.result = _notebook("run_text", raw_cell)
        except NotImplementedError:
            raise
        except BaseException as error:
            import traceback

            if isinstance(error, KeyboardInterrupt):
                raise
            result.error_in_exec = error
            traceback.print_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        if result.result is not None and not silent:
            display(result.result)
        return result

    def ev(self, expr):
        return _notebook("run_text", expr)

    def ex(self, cmd):
        _notebook("run_text", cmd)

    def enable_matplotlib(self, gui=None):
        return gui, "agg"

    def enable_gui(self, gui=None):
        pass

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        register_function(func, magic_kind, magic_name)

    def register_magics(self, *things):
        for thing in things:
            register_class(thing(self) if isinstance(thing, type) else thing)

    def set_next_input(self, s, replace=False):
        print(s)

    def set_custom_exc(self, *args, **kwargs):
        pass

    @property
    def user_ns(self):
        return Names(_notebook("names"))

    def push(self, names, interactive=True):
        _notebook("push", names if isinstance(names, dict) else {})

    @property
    def execution_count(self):
        return len(self.user_ns.get("In", ["", ""])) - 1

    def __getattr__(self, name):
        if name == "kernel" and "In" in self.user_ns:  # pandas looks whether it is there, to find out how wide a table may be
            return None
        raise AttributeError(f"get_ipython() has no `{name}` here")


shell = InteractiveShell()


def get_ipython():
    return shell
