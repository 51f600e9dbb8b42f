"""The workbench: studies in the browser, on this machine.

Forms and pages are made from the records of lenses and reports. May use everything below the command line. Only
``guard`` decides who gets an answer, only ``store`` saves studies, only ``jobs`` starts processes; ``making`` runs in
those and does all computing.
"""
