"""The functions of the configuration language, one file per family."""
