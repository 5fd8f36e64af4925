"""Parts that pictures and notebooks share: numbers and names as texts, marks with intervals, tables in HTML."""
