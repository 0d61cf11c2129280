"""What a run leaves on the disk: its directory, its ledger of cases, its rows."""
