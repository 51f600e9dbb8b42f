"""The questions users ask: ratings in, one frozen result out. May use everything below plots and the command line."""
