"""A fuzzer: damaged and made-up input for everything that reads; only errors of ours may come out.

``make fuzz SECONDS=600 SEED=1`` tries cases for so long. A failure leaves a folder in ``fuzz-failures/`` with the files
of the case and ``case.txt``, which says what was called, and how it ended. ``make test`` tries a few cases of each
target (``tests/test_fuzz.py``).
"""
