"""Files that are broken, hostile or merely odd, and every way in which the program can be given one."""
