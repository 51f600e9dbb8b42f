"""What everything rests on: errors, checks of arguments, settings records, files, quoting and wording."""
