"""Candidates of scans, by task."""
