"""Report, and how it is shown: table, json, csv, markdown, html, png, svg, terminal plots."""
