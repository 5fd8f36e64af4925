"""The gplens command: one file for each sub-command."""
