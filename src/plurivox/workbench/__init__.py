"""The workbench: studies in the browser, on this machine.

Forms and pages are made of the records of lenses and reports. May use everything below the command line. ``guard``
alone decides who gets an answer, ``store`` alone writes studies down, ``jobs`` alone starts processes; ``making`` runs
in those and alone computes.
"""
