"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): the file that `--config` names.

shape         which fields there are, of which types
checks        what the values may be, in the words of kube-scheduler
arguments     the same for the arguments of each plugin
plugin_sets   defaults and the file merged into who is asked at which extension point
user_plugins  plugins that are not ours, named on the command line
loading       the file as Profiles
"""
