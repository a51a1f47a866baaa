"""A small POSIX shell over the simulated state of a container. No program of the host is ever run.

    syntax        text -> tree
    tree          what a script is made of
    expansion     words with their variables, substitutions and sums
    interpreter   carries a tree out, as a generator of effects: whoever drives it keeps the time and has the streams
    effects       what it yields
    programs      what the programs do that it knows
    network       those that ask for other pods and Services
    world         what it sees: environment, files, names

Driven in virtual time it says what a container's command prints and when it ends (`commands.py`, `log.py`); driven in
real time it is what `kubectl exec` reaches.
"""
