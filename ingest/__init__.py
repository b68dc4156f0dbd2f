"""The write side: files and transcripts become events."""
