"""adminkit for other programs: each an extra, which is imported in its command alone."""
