"""gen-python-names.py OUTPUT: the modules that Python brings along, as a sorted table in C.

A file of such a name beside a script, or in the directory where `python -m` is run, is imported in place of the module."""
import sys

# Modules of other versions of Python, and those that pre-commit imports: its hook runs in the top of the worktree.
MORE = """asynchat asyncore distutils imp smtpd aifc audioop cgi cgitb chunk crypt imghdr mailcap msilib nis nntplib ossaudiodev pipes
sndhdr spwd sunau telnetlib uu xdrlib lib2to3 tomllib annotationlib compression string pathlib concurrent
pre_commit cfgv identify nodeenv yaml _yaml virtualenv distlib filelock platformdirs setuptools pkg_resources _distutils_hack
importlib_metadata zipp toml ukkonen editdistance_s typing_extensions pip wheel packaging six attr attrs click""".split()

with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write('#include "sandbox/protected_python.h"\n\nconst char *const protected_python_names[] = {\n')
    names = sorted({name.lower() for name in [*sys.stdlib_module_names, *MORE]})
    for name in names:
        file.write(f'    "{name}",\n')
    file.write(f"}};\nconst size_t protected_python_n_names = {len(names)};\n")
