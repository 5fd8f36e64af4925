"""The experiments of the paper, each of which `gplens reproduce` turns into a folder of results."""
