"""`make faults`: a site in containers, one fault after the other, and what is left of its jobs, rows and letters."""
