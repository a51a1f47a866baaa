"""Containers that really run, as local processes (docs/process-runtime.md). Off unless `--runtime=process` asks for it.

runtime      which containers are to run and which do: the ContainerRuntime of the reconciler of pods
machine      what they run on: processes, a directory, addresses
live         one run of a container: start, hooks, output, stop, end
prober       the checks of its probes
actions      what probes and hooks do: commands, HTTP, TCP
world        what its command sees: environment, directories, arguments
services     the variables that tell of Services
volumes      ConfigMaps, Secrets, tokens and empty directories as files
run_log      what it writes, with times, in files that are kept small
processes    how processes are started and ended: the seam that tests replace
terminal     the end of a terminal that a process does not have
words        what containerd says of commands that cannot be started
"""
