"""Files and frames."""
