"""The trace in files for others: tables with every column, or an SWF trace; with names or with pseudonyms."""
