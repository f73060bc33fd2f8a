"""The command line. One module per command; each has `add_arguments` and `run`."""
