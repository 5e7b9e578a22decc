"""HTTP: the studio on this computer, and a translation server for other programs. Import its modules by name."""

# Nothing is imported here: a worker (worker.py) is in this package too, and must neither load torch nor HTTP.
