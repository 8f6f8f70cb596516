"""Settings for figures of notebooks, without effect: figures are shown as they are."""

from matplotlib_inline import backend_inline

__all__ = ["backend_inline"]
