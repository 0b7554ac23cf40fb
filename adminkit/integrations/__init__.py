"""adminkit for other programs: each an extra, which only its command imports."""
