"""Imports in the zygote what a first plot needs: pyplot, the list of fonts, the renderer. Nothing is drawn: fonts stay open once they are used."""
import threading

import matplotlib.font_manager
import matplotlib.pyplot  # noqa: F401
import PIL.Image
from matplotlib.backends import backend_agg  # noqa: F401

PIL.Image.preinit()
matplotlib.font_manager.findfont(matplotlib.font_manager.FontProperties())
# A timer for a warning ends as a thread of its own, and a process with threads cannot be forked.
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(10)
