"""One module per command: HELP, configure(parser), run(arguments)."""
