"""What pictures and notebooks show alike: numbers and names as texts, marks with intervals, tables in HTML."""
