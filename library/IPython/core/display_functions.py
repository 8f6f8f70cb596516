"""The old home of IPython.display."""

from IPython.display import *  # noqa: F401,F403
