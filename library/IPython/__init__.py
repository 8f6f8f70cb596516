"""`IPython` as far as notebooks use it: what it shows is in IPython.display, and get_ipython() runs commands and simple magics.

There is no second interpreter behind it. Code on magic lines is part of the cell, where the policy sees it: `%timeit f()`, not
`get_ipython().run_line_magic("timeit", "f()")`.
"""

from IPython.core.interactiveshell import InteractiveShell, get_ipython
import IPython.display as display

__all__ = ["InteractiveShell", "display", "get_ipython", "version_info"]
__version__ = "8.0.0"
version_info = (8, 0, 0, "")
