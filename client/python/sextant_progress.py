"""The reporter of progress by its former name: it is sextant.progress, one file to copy too."""
from sextant.progress import *  # noqa: F401,F403
