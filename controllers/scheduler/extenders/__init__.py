"""HTTP extenders: services of the user's own that have a say in where pods go (`extenders` of the configuration).

settings   what the configuration says of one
calls      a question sent and its answer, over HTTP
answer     an answer, taken apart
extender   the questions: filter, prioritize, preempt, bind (k8s.io/kube-scheduler/extender/v1)
chain      all of them, in the order in which they are asked
deciding   schedule_one, with their say in it

They are asked in the middle of a pod's cycle, so that is where it waits: nothing else is decided meanwhile, as in
kube-scheduler. Follows pkg/scheduler/extender.go (v1.36).
"""
