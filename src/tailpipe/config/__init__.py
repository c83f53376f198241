"""What the user asked for, and at which file:line:col."""

from tailpipe.config.directories import config_directories
from tailpipe.config.load import load

__all__ = ["config_directories", "load"]
