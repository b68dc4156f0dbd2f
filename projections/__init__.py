"""The read side: tables that are built from the log and can be built again."""
