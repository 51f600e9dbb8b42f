"""What plurivox prints, writes and returns today, frozen, so that a refactoring can be held against it bit by bit."""
