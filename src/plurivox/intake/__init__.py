"""Where the readers of logs were in version 0.2; they are in ``plurivox.ask.logs`` now."""
