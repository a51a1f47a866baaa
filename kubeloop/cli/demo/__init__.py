"""`kubeloop demo`: a self-checking tour of the control loops on a stack that is thrown away afterwards.

`tour` is the story, `snapshot` what is seen of the cluster at one moment, `view` how it is shown.
"""
