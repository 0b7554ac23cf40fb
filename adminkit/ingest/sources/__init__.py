"""Where rows come from: accounting that is asked (base.py says how), text, SWF and job tables."""
