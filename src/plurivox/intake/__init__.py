"""From any file, frame or database to checked codes."""
