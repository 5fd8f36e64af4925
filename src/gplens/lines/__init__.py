"""Functions along a line: the line, sections, weights and their pull-back, pairs of nodes (MATH 4, 5)."""
