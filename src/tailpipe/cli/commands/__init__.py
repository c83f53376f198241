"""What commands do: `run(arguments)` of the module that `cli/arguments.py` names."""
