from IPython.display import set_matplotlib_close, set_matplotlib_formats

__all__ = ["set_matplotlib_close", "set_matplotlib_formats"]
