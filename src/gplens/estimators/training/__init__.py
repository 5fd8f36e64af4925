"""Fitting: the bound, where it starts, how it climbs, when it stops."""
