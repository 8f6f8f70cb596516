"""The object that get_ipython() gives."""
from IPython.core.magic import cell_magics, line_magics, register_class, register_function

HARMLESS = (
    "matplotlib load_ext reload_ext unload_ext autoreload config precision xmode colors pdb automagic gui pprint autosave logstart logstop "
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
        return None if name in HARMLESS else _notebook("magic", (name, line))

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
        raise NotImplementedError(f"`%%{name}` cannot be called as a function here; {HINT}")

    def run_cell(self, code, *args, **kwargs):
        raise NotImplementedError(f"code in a text cannot be run here; {HINT}")

    ex = ev = run_cell

    def enable_matplotlib(self, gui=None):
        return gui, "agg"

    def enable_gui(self, gui=None):
        pass

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        register_function(func, magic_kind, magic_name)

    def register_magics(self, *things):
        for thing in things:
            register_class(thing(self) if isinstance(thing, type) else thing)

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
        raise AttributeError(f"get_ipython() has no `{name}` here")


shell = InteractiveShell()


def get_ipython():
    return shell
