"""Parts of IPython.utils that notebooks import."""
