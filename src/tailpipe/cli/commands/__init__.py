"""One module for each command, named like it: `HELP`, `configure(parser)` and `run(arguments)`."""
