"""What short limits earn: points by history, the tables that slurmctld reads them from."""
