from IPython.core.interactiveshell import get_ipython

__all__ = ["get_ipython"]
