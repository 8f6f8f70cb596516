from IPython.utils.capture import CapturedIO, capture_output

__all__ = ["CapturedIO", "capture_output"]
