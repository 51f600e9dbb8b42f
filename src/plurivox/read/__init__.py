"""From files of any kind to checked codes: tables, exports of platforms, and ratings packed in a folder."""
