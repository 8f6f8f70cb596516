"""The old home of players and frames."""

from IPython.display import Audio, Code, FileLink, FileLinks, IFrame, ScribdDocument, VimeoVideo, YouTubeVideo  # noqa: F401
