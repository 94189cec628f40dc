"""The command `groupspec`, one file for each of its subcommands."""
